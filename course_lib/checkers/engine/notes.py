"""Notas que comparten varios ejercicios: lo que está bien y conviene saber."""

from torch.overrides import TorchFunctionMode

from course_lib.checkers.engine.comparing import clone


class Heard(TorchFunctionMode):
    """Mientras dura, apunta cómo se llaman las funciones de torch que se usan."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_function__(self, function, types, arguments=(), options=None):
        self.names.add(getattr(function, "__name__", ""))
        return function(*arguments, **(options or {}))


def not_by_hand(names, note):
    """La nota de quien llama a una función de torch que el enunciado pide no usar.

    Args:
        names: cómo se llaman esas funciones.
        note: lo que se dice.
    """

    def look(attempt):
        heard = Heard()

        def listened(*arguments):
            with heard:
                return attempt.learner(*arguments)

        case = next(iter(attempt.values))
        attempt.exercise.call(listened, *clone(case.arguments))
        if heard.names & set(names):
            yield note

    return look
