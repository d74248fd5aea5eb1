"""La página en que cada uno cambia su contraseña, que es la de su cuenta de Linux."""

import asyncio

from jupyterhub.handlers import BaseHandler
from tornado import web

from aula.hub import accounts


class PasswordPage(BaseHandler):
    """Pide la contraseña de ahora y la nueva, dos veces. ``passwd`` no vale: en la jaula no se puede."""

    @web.authenticated
    async def get(self, told=""):
        self.finish(await self.render_template("clave.html", told=told))

    @web.authenticated
    async def post(self):
        told, given = "La de ahora no es esa.", ("old", "new", "again")
        old, new, again = (self.get_body_argument(name, "", strip=False) for name in given)
        login = {"username": self.current_user.name, "password": old}
        if new != again or not new.isprintable() or not 8 <= len(new) <= 100:
            told = "La nueva no vale: dos veces la misma, de ocho letras o más."
        elif await self.authenticator.authenticate(self, login):
            await asyncio.to_thread(accounts.set_password, login["username"], new)
            told = "Hecho: la próxima vez, entra con la nueva."
        await self.get(told)
