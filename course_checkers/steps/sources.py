"""De dónde sale cada proyección y con qué matriz: los errores que van juntos, con un solo nombre."""

from course_checkers.engine import Option, told, ways

ROLES = ("query", "key", "value")
LETTER = {"query": "W_Q", "key": "W_K", "value": "W_V"}
OWN = "own"  # con la suya
SOURCES, PROJECTIONS = told(__file__, "sources"), told(__file__, "projections")
PLURAL = {"query": "las queries", "key": "las keys", "value": "los values"}


def kind_mistake(how, roles, kinds):
    """El error de proyectar así, con los papeles que van mal.

    Args:
        kinds: cómo se proyecta mal → su ``Mistake``, con ``{roles}`` en la frase.
    """
    if how in ROLES:
        return PROJECTIONS["otra-proyección#alguna"]
    return kinds[how].saying(roles=", ".join(PLURAL[role] for role in roles))


def projection_options(kinds):
    """Formas de proyectar la query y la key, y el value."""
    hows = [*ROLES, *(how for how in kinds if how != "swapped")]
    first = [how for how in hows if how != "query"]
    second = [how for how in hows if how != "key"]
    pairs = [(how, OWN) for how in first] + [(OWN, how) for how in second]
    pairs += [(how, how) for how in hows if how not in ("query", "key")] + [("key", "query")]
    both = [Option((OWN, OWN))]
    for pair in pairs:
        how = next(how for how in pair if how != OWN)
        both.append(Option(pair, kind_mistake(how, ROLES, kinds)))
    third = [Option(how, kind_mistake(how, ROLES, kinds)) for how in hows if how != "value"]
    return both, [Option(OWN), *third]


def output_options(said, *others):
    """Formas de dar la última proyección; ``others`` son las malas de un solo ejercicio."""
    return ways(
        said,
        OWN,
        ("sin-W_O", "none"),
        ("W_O-dos-veces", "twice"),
        *others,
        *((said["W_O-es-otra"].saying(letter=LETTER[role]), role) for role in ROLES),
        ("suma-la-entrada", "residual"),
    )


def name_projections(hows, kinds):
    """El nombre de lo que va mal en las tres proyecciones: papel → ``Mistake``."""
    used = tuple(role if how == OWN else how for role, how in zip(ROLES, hows))
    wrong = [role for role, how in zip(ROLES, hows) if how in ROLES]
    if len(set(used)) == 1 and used[0] in ROLES:
        other = PROJECTIONS["una-sola-proyección"].saying(letter=LETTER[used[0]])
    elif used[:2] == ("key", "query") and "value" not in wrong:
        other = kinds["swapped"]
    else:
        uses = "; ".join(
            f"{role} se proyecta con {LETTER[how]} y le toca {LETTER[role]}"
            if role != "value"
            else f"los pesos mezclan vectores proyectados con {LETTER[how]}, y tienen que ser los de W_V"
            for role, how in zip(ROLES, hows)
            if role in wrong
        )
        other = PROJECTIONS["otra-proyección"].saying(uses=uses[:1].upper() + uses[1:])
    named = dict.fromkeys(wrong, other)
    for kind in set(hows) - {OWN, *ROLES}:
        roles = [role for role, how in zip(ROLES, hows) if how == kind]
        named |= dict.fromkeys(roles, kind_mistake(kind, roles, kinds))
    return named


def name_sources(sources):
    """El nombre de unas entradas que no son (query, key, value)."""
    if sources == ("query",) * 3:
        return SOURCES["solo-query"]
    if set(sources) == set(ROLES):
        return SOURCES["otro-orden"].saying(uses=", ".join(sources))
    uses = [f"{role} sale de {source}" for role, source in zip(ROLES, sources) if role != source]
    return SOURCES["otra-entrada"].saying(uses=" y tu ".join(uses))


def join(choice, good, kinds, expected_merge):
    """Los errores que van juntos, con un solo nombre: los de proyectar, y los de repartir y juntar.

    Args:
        choice: lo reconocido, paso → ``Option``.
        good: la forma buena de dar cada paso.
        expected_merge: error al repartir → el de juntar que entonces ya no lo es.
    """
    chosen = good | {axis: option.value for axis, option in choice.items()}
    wrong = {axis: [m.id for m in option.mistakes] for axis, option in choice.items()}
    for division in wrong.get("split", ()):
        if wrong.get("merge") == [expected_merge.get(division)]:
            choice = choice | {"merge": Option(choice["merge"].value)}
    sources = (*chosen["sources"], chosen["source_v"])
    for axis in ("sources", "source_v"):
        if axis in choice and choice[axis].mistake:
            choice = choice | {axis: Option(choice[axis].value, name_sources(sources))}
    named = name_projections((*chosen["projections"], chosen["project_v"]), kinds)
    for axis, roles in (("projections", ROLES[:2]), ("project_v", ROLES[2:])):
        mistakes = tuple(dict.fromkeys(named[role] for role in roles if role in named))
        if mistakes and axis in choice:
            choice = choice | {axis: Option(choice[axis].value, mistakes)}
    return choice
