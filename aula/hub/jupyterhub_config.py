"""Cómo es el aula: lo lee JupyterHub al arrancar. Cada línea dice por qué está.

Lo tuyo (otro límite, otra forma de entrar) va en «local.py», en la carpeta de ESTADO, con las mismas
líneas de aquí: se lee al final, y manda.
"""

from aula.hub import accounts, passwords, place, spanish, spawner

c = get_config()  # noqa: F821 — lo define JupyterHub al leer este archivo

# --- Quién entra: cuentas de Linux, y solo las de los dos grupos del aula -------------------------
c.JupyterHub.authenticator_class = "pam"
c.JupyterHub.extra_handlers = [("/clave", passwords.PasswordPage)]
c.PAMAuthenticator.allowed_groups = {place.STUDENTS, place.TEACHERS}
c.PAMAuthenticator.service = place.PAM.name
c.PAMAuthenticator.executor_threads = 8
c.JupyterHub.cookie_max_age_days = 1  # quien se hizo con la de otro, mañana ya no entra

# --- Quien da la clase ve quién está, y abre y cierra sus JupyterLab. Nadie entra en el de otro ---
helps = ["admin-ui", "list:users", "read:users:activity", "servers"]
teachers = {"name": "docentes", "scopes": helps, "users": accounts.users(place.TEACHERS)}
own = [f"{what}!user" for what in ("read:users", "users:activity", "servers", "access:servers")]
student = {"name": "user", "scopes": own}  # sin hacerse claves, que no caducan
c.JupyterHub.load_roles = [teachers, student, {"name": "admin", "users": []}]

# --- Lo que recibe cada uno: su copia, con el entorno y el curso de todos, que no puede cambiar ---
c.JupyterHub.spawner_class = spawner.ClassroomSpawner
c.Spawner.disable_user_config = True  # con la suya, su servidor daría páginas a los demás
c.Spawner.args = [
    "--ServerApp.contents_manager_class=course_tools.opening.contents.CourseContents",
    "--MappingKernelManager.cull_idle_timeout=3600",  # lo que nadie usa se cierra: un kernel, a la hora
    "--ServerApp.shutdown_no_activity_timeout=7200",  # y un servidor sin ninguno, a las dos
    "--ServerApp.jpserver_extensions={'jupyter_lsp': False, 'jupyter_server_terminals': False}",
]
c.Spawner.default_url = "/lab/tree/mis_cuadernos/00_empieza_aqui.ipynb"
c.Spawner.environment = place.environment()
c.Spawner.mem_limit = "1G"
c.Spawner.cpu_limit = 1.0
c.Spawner.start_timeout = c.Spawner.http_timeout = 300  # cuarenta a la vez tardan
c.Spawner.poll_interval = 10  # si uno se cae, se sabe pronto y se puede abrir otra vez
c.JupyterHub.concurrent_spawn_limit = 0  # sin tope: nadie lee «vuelve más tarde» al empezar
c.JupyterHub.active_server_limit = place.seats()

# --- En español -----------------------------------------------------------------------------------
c.JupyterHub.jinja_environment_options = {"extensions": [spanish.Spanish]}
c.Spawner.progress_ready_hook = spanish.ready
c.JupyterHub.template_paths = [str(place.HERE / "plantillas")]
told = [place.say("se recoge"), *([place.say("aviso")] if place.TOLD.exists() else [])]
c.JupyterHub.template_vars = {"announcement": " ".join(told)}  # en todas, y al abrirse su JupyterLab

# --- Dónde: lo que guarda el Hub, en la carpeta desde la que se abre, ESTADO -----------------------
door = [*place.WITH_PARENT, str(place.NODE / "bin/node"), str(place.PROXY_PROGRAM)]
c.ConfigurableHTTPProxy.command = door
c.JupyterHub.default_url = "/hub/user-redirect/" + c.Spawner.default_url.strip("/")
c.ConfigurableHTTPProxy.api_url = place.inside("puerta")
c.JupyterHub.hub_bind_url = c.JupyterHub.hub_connect_url = place.inside("hub")
c.JupyterHub.hub_socket_mode = 0o666  # quién pide cada cosa lo dice su clave

if (place.STATE / "local.py").exists():
    exec((place.STATE / "local.py").read_text(encoding="utf-8"))
