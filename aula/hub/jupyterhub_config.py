"""Cómo es el aula: lo lee JupyterHub al arrancar. Cada línea dice por qué está.

Lo tuyo (otro límite, otra forma de entrar) va en «local.py», en la carpeta de ESTADO, con las mismas
líneas de aquí: se lee al final, y manda.
"""

import sys

from jupyterhub.utils import random_port

from aula.hub import accounts, passwords, place, spanish, spawner

c = get_config()  # noqa: F821 — lo define JupyterHub al leer este archivo

# --- Quién entra: cuentas de Linux, y solo las de los dos grupos del aula -------------------------
c.JupyterHub.authenticator_class = passwords.ClassroomAuthenticator
c.PAMAuthenticator.allowed_groups = {place.STUDENTS, place.TEACHERS}
c.PAMAuthenticator.service = place.PAM.name
c.PAMAuthenticator.executor_threads = 8
c.JupyterHub.cookie_max_age_days = 1  # quien se hizo con la de otro, mañana ya no entra

# --- Quien da la clase ve quién está, y abre y cierra sus JupyterLab. Nadie entra en el de otro ---
helps = ["admin-ui", "list:users", "read:users:activity", "servers"]
teachers = {"name": "docentes", "scopes": helps, "users": accounts.users(place.TEACHERS)}
c.JupyterHub.load_roles = [teachers, {"name": "admin", "users": []}]

# --- Lo que recibe cada uno: su copia, con el entorno y el curso de todos, que no puede cambiar ---
c.JupyterHub.spawner_class = spawner.ClassroomSpawner
c.Spawner.disable_user_config = True  # con la suya, su servidor daría páginas a los demás
c.Spawner.args = [
    "--ServerApp.contents_manager_class=course_tools.opening.contents.CourseContents",
    "--KernelManager.transport=ipc",  # por TCP, otra cuenta del ordenador leería lo que sale
    "--MappingKernelManager.cull_idle_timeout=3600",
    "--ServerApp.jpserver_extensions={'jupyter_lsp': False, 'jupyter_server_terminals': False}",
]
c.Spawner.default_url = f"/lab/tree/mis_cuadernos/{place.FIRST}"
c.Spawner.environment = place.environment()
c.Spawner.mem_limit = "1G"
c.Spawner.cpu_limit = 1.0
c.Spawner.start_timeout = c.Spawner.http_timeout = 300  # cuarenta a la vez tardan
c.Spawner.poll_interval = 10  # si uno se cae, se sabe pronto y se puede abrir otra vez
c.JupyterHub.concurrent_spawn_limit = 0  # sin tope: nadie lee «vuelve más tarde» al empezar
c.JupyterHub.active_server_limit = place.seats()

# --- Lo que nadie usa se cierra: un kernel, a la hora; un servidor, a las dos ---------------------
culler = [*place.WITH_PARENT, sys.executable, "-m", "jupyterhub_idle_culler"]
culler += ["--timeout=7200", "--cull-every=300"]
c.JupyterHub.services = [{"name": "cierre", "command": culler}]
may = ["list:users", "read:users:activity", "read:servers", "delete:servers"]
c.JupyterHub.load_roles += [{"name": "cierre", "services": ["cierre"], "scopes": may}]

# --- En español -----------------------------------------------------------------------------------
c.JupyterHub.jinja_environment_options = {"extensions": [spanish.Spanish]}
c.Spawner.progress_ready_hook = spanish.ready
c.JupyterHub.template_paths = [str(place.HERE / "plantillas")]
c.JupyterHub.template_vars = {"passwords": True}
if place.TOLD.exists():  # en todas las páginas; también, mientras se abre su JupyterLab
    c.JupyterHub.template_vars["announcement"] = place.say("aviso")

# --- Dónde: lo que guarda el Hub, en la carpeta desde la que se abre, ESTADO -----------------------
door = [*place.WITH_PARENT, str(place.NODE / "bin/node"), str(place.PROXY_PROGRAM)]
c.ConfigurableHTTPProxy.command = door
c.JupyterHub.default_url = "/hub/user-redirect/" + c.Spawner.default_url.strip("/")
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{random_port()}"

if place.OWN.exists():
    exec(place.OWN.read_text(encoding="utf-8"))
