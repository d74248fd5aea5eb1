"""Familias muy grandes: de cada etapa se miran solo los miembros con pocos errores."""

from itertools import combinations, product

from course_lib.checkers.family import Exercise, mistakes


class FewMistakes(Exercise):
    """Un ejercicio cuya familia es tan grande que solo se mira hasta ``most`` errores por etapa."""

    most = 3
    idle = {}  # error → pasos que ya no cuentan si se comete

    def expects_tuple(self, value):
        return False

    def matching(self, survivors, axes, stage, cases, seen):
        found = []
        for number in range(self.most + 1):
            found += [
                choice
                for known in survivors
                for some in self.members(axes, stage.axes, number)
                if all(self.agrees(choice := known | some, case, seen[case]) for case in cases)
                and not self.pointless(choice)
            ]
            if found and len(self.stages) == 1:
                break  # no hay más etapas: los que tienen más errores ya no hacen falta
        return found

    def pointless(self, choice):
        """Si comete un error en un paso que otro de sus errores deja sin efecto."""
        names = {name for mistake in mistakes(choice) for name in self.idle.get(mistake.id, ())}
        return any(choice[name].mistakes for name in names & choice.keys())

    def members(self, axes, names, number):
        """Las combinaciones de estos pasos con ``number`` errores."""
        right = {name: [o for o in axes[name] if not o.mistakes] for name in names}
        wrong = {name: [o for o in axes[name] if o.mistakes] for name in names}
        for chosen in combinations(names, number):
            ways = [wrong[name] if name in chosen else right[name] for name in names]
            yield from (dict(zip(names, options)) for options in product(*ways))
