"""Firefox, por WebDriver BiDi: lo que en Chromium hace Playwright, y con Firefox pide otro."""

import contextlib
import itertools
import json
import re
import shutil
import subprocess
import tempfile
import time

import websocket  # viene con jupyter_server

KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "Control": "\ue009", "Delete": "\ue017"}


def find_firefox():
    """El programa, o ``None``."""
    return shutil.which("firefox") or shutil.which("firefox-esr")


class Page:
    """Una pestaña."""

    def __init__(self, socket):
        self.socket, self.serial = socket, itertools.count(1)
        self.ask("session.new", capabilities={})
        self.context = self.ask("browsingContext.getTree")["contexts"][0]["context"]

    def ask(self, method, **params):
        number = next(self.serial)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while (told := json.loads(self.socket.recv())).get("id") != number:
            pass
        if told["type"] == "error":
            raise RuntimeError(f"{method}: {told['message']}")
        return told["result"]

    def goto(self, address):
        self.ask("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def evaluate(self, program):
        """Lo que da una expresión de JavaScript: un texto, un número o una verdad."""
        target = {"context": self.context}
        told = self.ask("script.evaluate", expression=program, target=target, awaitPromise=True)
        if "exceptionDetails" in told:
            raise RuntimeError(told["exceptionDetails"]["text"])
        return told["result"].get("value")

    def until(self, program, seconds=120):
        """Espera a que sea verdad."""
        end = time.monotonic() + seconds
        while not self.evaluate(program):
            if time.monotonic() > end:
                raise TimeoutError(program)
            time.sleep(0.1)

    def focus(self, place):
        """Da el foco al primero de esos nodos: sin ventana, Firefox no avisa de que lo tiene."""
        node = f"document.querySelector({json.dumps(place)})"
        self.evaluate(f"(node => {{ node.focus(); node.dispatchEvent(new Event('focus')) }})({node})")

    def press(self, *names):
        """Pulsa unas teclas a la vez."""
        keys = [KEYS.get(name, name) for name in names]
        actions = [{"type": "keyDown", "value": key} for key in keys]
        actions += [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self.perform(actions)

    def write(self, text):
        """Escribe un texto, letra a letra."""
        self.perform([{"type": kind, "value": KEYS["Enter"] if letter == "\n" else letter}
                      for letter in text for kind in ("keyDown", "keyUp")])  # fmt: skip

    def drag(self, x, y, down):
        """Arrastra con un dedo lo que hay en un punto, unos píxeles hacia abajo."""
        moves = [{"type": "pointerMove", "x": x, "y": y + by} for by in range(0, down + 1, down // 10)]
        actions = [moves[0], {"type": "pointerDown", "button": 0}, *moves[1:], {"type": "pointerUp", "button": 0}]
        self.perform(actions, type="pointer", id="dedo", parameters={"pointerType": "touch"})

    def perform(self, actions, **source):
        source = {"type": "key", "id": "teclado"} | source | {"actions": actions}
        self.ask("input.performActions", context=self.context, actions=[source])


@contextlib.contextmanager
def open_firefox():
    """Una pestaña de un Firefox sin ventana y sin nada guardado."""
    with tempfile.TemporaryDirectory() as profile:
        command = [find_firefox(), "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            for line in process.stderr:
                if found := re.search(r"WebDriver BiDi listening on (ws://\S+)", line):
                    break
            socket = websocket.create_connection(f"{found[1]}/session", suppress_origin=True, timeout=180)
            with contextlib.closing(socket):
                yield Page(socket)
        finally:
            process.terminate()
            process.wait(20)
