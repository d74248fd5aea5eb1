"""Comprueba la multi-cabeza entera, escrita como módulo por quien aprende.

Una clase puede guardar sus capas de muchas formas: ``head_layers`` las encuentra y les pone los pesos
de la prueba. La cuenta, bien y mal, está en ``head_family``.
"""

import functools
import inspect
import itertools

import torch
from torch import nn

from course_lib.checkers import head_family as family
from course_lib.checkers import head_layers
from course_lib.checkers.engine import running
from course_lib.checkers.legacy_attention import Attention
from course_lib.checkers.family import Mistake, Option, Raised, Stage, same, show
from course_lib.checkers.engine.report import Finding
from course_lib.masks import causal_mask

HOWS = ("none", "twice", "no-bias", "turned")
PAIR_OPTIONS, VALUE_PROJECTIONS = family.projection_options(HOWS)

# --- Los errores de la clase ----------------------------------------------------------------------

STRUCTURE = {
    "reparte-antes": (
        "Repartes antes de proyectar: tus capas son de d_k × d_k, y cada cabeza solo ve su trozo del "
        "embedding. Cada una proyecta las d_model dimensiones.",
        "06 §3",
    ),
    "misma-proyección-en-todas": (
        "Todas las cabezas comparten la misma proyección de d_model a d_k: cada una tiene la suya.",
        "06 §3",
    ),
    "cabezas-anchas": (
        "Cada cabeza mide d_model y no d_k = d_model / h: el bloque tiene unas h veces más parámetros.",
        "06 §9",
    ),
    "lista-de-python": (
        "Guardas capas en una lista de Python (o en otro objeto que no es un módulo): torch no las ve y "
        "no aprenden. Usa nn.ModuleList.",
        "06 §4",
    ),
    "tensor-sin-parameter": (
        "Guardas matrices como tensores corrientes: torch no las ve y no aprenden. Usa nn.Linear o nn.Parameter.",
        "06 §4",
    ),
    "corta-el-gradiente": (
        "El gradiente no llega a todas tus capas, y lo que no lo recibe no aprende. ¿Hay un detach(), "
        "un .data o un torch.no_grad()?",
        "06 §4",
    ),
    "parámetros-de-más": ("Tu módulo tiene parámetros que no usa.", "06 §9"),
    "capas-en-forward": (
        "Creas capas dentro de forward: cada llamada empieza con pesos nuevos, y no aprenden. Créalas en __init__.",
        "06 §4",
    ),
    "constructor-al-revés": (
        "Tu constructor recibe primero la anchura y después el número de cabezas, y es al revés.",
        "06 §9",
    ),
}


def structural(name, story=""):
    text, read = STRUCTURE[name]
    return Finding(name, text, story, read)


def listed(names, most=4):
    """Unos nombres, en una frase."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} y {len(names) - most} más"


OUTPUT_OPTIONS = [
    Option("own"),
    Option(
        "none",
        Mistake("sin-W_O", "Falta la última proyección, W_O: la que mezcla las cabezas.", "06 §8"),
    ),
    Option("twice", Mistake("W_O-dos-veces", "Aplicas W_O dos veces.", "06 §8")),
    Option(
        "no-bias", Mistake("W_O-sin-su-sesgo", "Usas la matriz W_O y olvidas su sesgo.", "06 §8")
    ),
    Option(
        "turned",
        Mistake(
            "W_O-sin-trasponer",
            "Multiplicas por la matriz de W_O sin trasponer: nn.Linear la guarda como (salida, entrada).",
            "06 §4",
        ),
    ),
    *(
        Option(
            role,
            Mistake(
                "W_O-es-otra",
                f"La última proyección es {family.LETTER[role]}, y tiene que ser W_O, con su propia matriz.",
                "06 §8",
            ),
        )
        for role in family.ROLES
    ),
    Option(
        "residual",
        Mistake(
            "suma-la-entrada",
            "Sumas la query a la salida: la conexión residual va fuera de este bloque.",
            "06 §2",
        ),
    ),
]
BATCH = Mistake(
    "lote-por-tokens",
    "Tomas el primer eje por los tokens y el segundo por el lote: se atienden las frases entre sí. "
    "¿Falta batch_first=True?",
    "06 §6",
)


def draw(seed, batch, L_q, L_k, width, mask=None, factor=1.0):
    generator = torch.Generator().manual_seed(seed)
    lengths = (L_q, L_k, L_k)
    q, k, v = (torch.randn(batch, length, width, generator=generator) for length in lengths)
    return q * factor, k, v, mask


def case(name, arguments, heads=4, width=12):
    return family.HeadsCase(name, arguments, heads=heads, width=width)


ONE = case("una frase de un token y una cabeza", draw(1, 1, 1, 1, 6), 1, 6)
QUIET = case("una frase de un token y puntuaciones iguales", draw(13, 1, 1, 1, 6), 1, 6)
SINGLE = case("3 tokens y una sola cabeza", draw(2, 2, 3, 3, 6), 1, 6)
X = draw(5, 2, 8, 8, 12)[0]
WIDE = (
    case("5 queries, 5 keys y 4 cabezas", draw(3, 2, 5, 5, 12)),
    case("5 queries, 7 keys y 4 cabezas", draw(4, 2, 5, 7, 12)),
    case("una frase de 8 tokens que se mira a sí misma", (X, X, X, None)),
    case("4 tokens y 4 cabezas", draw(6, 3, 4, 4, 12)),
)
LARGE = case("puntuaciones muy grandes", draw(7, 2, 3, 3, 6, factor=3000.0), 1, 6)


def random_mask(seed, *shape):
    mask = torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) < 0.6
    mask[..., 0] = True
    return mask


FUTURE = causal_mask(5).expand(2, 1, 5, 5).clone()
PADDING = (torch.arange(7) < torch.tensor([4, 6])[:, None])[:, None, None]
MASKED = (
    case("la máscara causal, (B, 1, L, L)", draw(8, 2, 5, 5, 12, FUTURE)),
    case("una máscara de relleno, (B, 1, 1, L_k)", draw(9, 2, 5, 7, 12, PADDING)),
    case("una máscara por cabeza", draw(10, 2, 5, 7, 12, random_mask(0, 2, 4, 5, 7))),
    case("la máscara causal, (L, L)", draw(11, 2, 5, 5, 12, causal_mask(5))),
    case("máscara causal y puntuaciones grandes", draw(12, 2, 5, 5, 12, FUTURE, 60.0)),
)  # fmt: skip


def build(maker, heads, width, flipped=False):
    module = maker(width, heads) if flipped else maker(heads, width)
    if isinstance(module, nn.Module):
        module.eval()  # un nn.Dropout, aquí, estorba
        if any(isinstance(p, nn.UninitializedParameter) for p in module.parameters()):
            module(
                *(torch.zeros(1, 2, width) for _ in range(3))
            )  # las capas perezosas miden ya algo
    return module


ONE_HEAD_STEPS = (
    "sources", "projections", "order", "batch", "split", "scale", "softmax", "extra", "value", "merge",
)  # fmt: skip


class MultiHead(family.HeadsExercise, Attention):
    """Query, key, value → Concat(cabezas)·W_O, en un módulo de quien aprende."""

    number, title, points = "6.2", "la multi-cabeza, en una clase", 6
    names, optional = ("query", "key", "value"), ("mask",)
    groups = {}
    tiny = ()
    axes = family.HeadsExercise.axes | {
        "sources": [
            Option(pair, family.OTHER_SOURCE if pair != ("query", "key") else None)
            for pair in sorted(
                itertools.product(family.ROLES, repeat=2), key=lambda pair: pair != ("query", "key")
            )
        ],
        "source_v": [
            Option("value"),
            *(Option(role, family.OTHER_SOURCE) for role in ("query", "key")),
        ],
        "projections": PAIR_OPTIONS,
        "project_v": VALUE_PROJECTIONS,
        "output": OUTPUT_OPTIONS,
        "batch": [Option(False), Option(True, BATCH)],
        "mask": family.MASK_OPTIONS,
    }
    stages = (
        Stage(("source_v", "project_v", "output", "value", "softmax", "scale", "merge"), (ONE, QUIET)),
        Stage(ONE_HEAD_STEPS, (SINGLE,)),
        Stage(("split", "merge", "scale", "value"), WIDE),
        Stage(("naive",), (LARGE,)),
        Stage(("mask",), MASKED),
    )  # fmt: skip
    narrow = {
        (0, "split"): ("h-y-d_k-cambiados",),
        (0, "merge"): ("sin-juntar", "concat-otro-eje", "media-de-cabezas", "suma-de-cabezas"),
        (1, "split"): ("falta-trasponer", "h-y-d_k-cambiados", "traspone-antes-de-repartir"),
    }
    wider = {
        0: ("project_v", "projections", "split", "merge", "output", "value"),
        2: ("sources", "projections", "merge", "scale", "softmax"),
    }
    styles = {1: ("scale",), 2: ("merge", "scale"), 4: ("mask",)}

    # --- Preparar la clase ------------------------------------------------------------------------

    def __init__(self):
        super().__init__()
        self.learner, self.plan, self.flipped, self.weights = None, head_layers.Plan(), False, {}
        self.layer = functools.lru_cache(maxsize=None)(self._layer)

    def check(self, learner):
        if learner is None or learner is ... or self.is_stub(learner):
            return self.report(unsolved=True)
        found = self.candidates(learner)
        if isinstance(found, Finding):
            return self.report([found])
        if found is None:
            return self.report(unsolved=True)
        flipped, plans = found
        best = None
        for plan in plans:
            fresh = self.bound(learner, plan, flipped)
            report = super(MultiHead, fresh).check(learner)
            known = [f.id in self.mistake_ids() for f in report.findings]
            score = (report.ok, bool(known) and all(known), -len(known))
            if best is None or score > best[0]:
                best = score, report
            if report.ok or report.unsolved:
                break
        return best[1]

    def bound(self, learner, plan, flipped):
        """Otra vez de cero, para esta clase y estas capas: los pesos dependen de cómo estén."""
        fresh = type(self)()
        fresh.learner, fresh.plan, fresh.flipped = learner, plan, flipped
        return fresh

    def is_stub(self, learner):
        return running.is_stub(learner) or running.is_stub(getattr(learner, "forward", None))

    def candidates(self, learner):
        """Los planes posibles de esta clase, un ``Finding`` si no sirve, o ``None`` si está sin hacer."""
        if isinstance(learner, nn.Module):
            name = type(learner).__name__
            text = f"Da la clase, sin crear el módulo: {name}, y no {name}(…)."
            return Finding("instancia", text)
        if not callable(learner):
            text = f"Esperaba una clase y esto es un «{type(learner).__name__}»."
            return Finding("no-es-clase", text)
        if isinstance(learner, type) and not issubclass(learner, nn.Module):
            text = f"Tu clase no hereda de nn.Module: escribe {learner.__name__}(nn.Module)."
            return Finding("no-es-modulo", text, read="06 §4")
        if getattr(learner, "forward", None) is nn.Module.forward:
            return Finding(
                "sin-forward",
                "A tu clase le falta el método forward(self, query, key, value, mask=None).",
            )
        outcome, flipped = running.call(build, learner, 4, 12), False
        if outcome.unsolved:
            return None
        parameters = self.parameters(learner)
        looks_flipped = (
            len(parameters) > 1 and "head" in parameters[1] and "head" not in parameters[0]
        )
        if looks_flipped:
            outcome, flipped = running.call(build, learner, 4, 12, True), True
        if outcome.problem:
            return self.broken(outcome.problem)
        module = outcome.value
        if not isinstance(module, nn.Module):
            return Finding(
                "no-es-modulo",
                f"Tu clase crea un «{type(module).__name__}», y no un nn.Module.",
                read="06 §4",
            )
        if problem := self.wrong_forward(module):
            return problem
        return flipped, self.plans(learner, module, flipped)

    @staticmethod
    def parameters(learner):
        try:
            return [name.lower() for name in inspect.signature(learner).parameters]
        except (TypeError, ValueError):
            return []

    @staticmethod
    def broken(problem):
        if "Module.__init__() call" in problem.text:
            return Finding(
                "sin-super", "A tu __init__ le falta super().__init__(), lo primero.", problem.text
            )
        return problem

    def wrong_forward(self, module):
        """Un ``Finding`` si forward no admite (query, key, value)."""
        try:
            inspect.signature(module.forward).bind("query", "key", "value")
        except TypeError:
            text = "El forward de tu clase tiene que poder recibir (query, key, value, mask=None), en ese orden."
            return Finding("firma", text)
        except ValueError:
            pass
        return None

    def plans(self, learner, module, flipped):
        """Las formas de leer sus capas: si con una da lo que debe, esa; si no, las más sencillas."""
        plan = head_layers.plan_of(module, 4, 12)
        layers = list(head_layers.layers_of(module))
        raw = any(not layer.linear and layer.weight.dim() == 2 for layer in layers)
        turns = (False, True) if raw else (False,)
        fused = (
            (False, True)
            if {"qkv", "kv"} & {kind for _, kind, _ in plan.layers.values()}
            else (False,)
        )
        guesses = [None]
        if len(plan.guessed) > 1:
            guesses += itertools.permutations(plan.guessed)
        options = list(itertools.product(guesses, turns, fused))
        for guess, turned, by_head in options if len(options) > 1 else ():
            other = head_layers.plan_of(module, 4, 12, guess, turned, by_head)
            fresh = self.bound(learner, other, flipped)
            value = fresh.run(learner, WIDE[1]).value
            output = value[0] if isinstance(value, tuple) and value else value
            if isinstance(output, torch.Tensor) and fresh.agrees({}, WIDE[1], output.detach()):
                return [other]
        return [plan, head_layers.plan_of(module, 4, 12, turned=True)] if raw else [plan]

    # --- Ejecutarla ---------------------------------------------------------------------------

    def weights_for(self, heads, width):
        if (heads, width) not in self.weights:
            weights = head_layers.draw_weights(heads, width, seed=heads)
            self.weights[heads, width] = weights
        return self.weights[heads, width]

    def quiet(self, weights):
        """Con una sola key, que las puntuaciones no dependan de qué se proyecta."""
        for role in ("query", "key"):
            weights.matrix[role] = torch.zeros_like(weights.matrix[role])
            weights.bias[role] = torch.ones_like(weights.bias[role])
        return weights

    def case_weights(self, case):
        if case is not QUIET:
            return self.weights_for(case.heads, case.width)
        if "one" not in self.weights:
            self.weights["one"] = self.quiet(head_layers.draw_weights(1, case.width, seed=9))
        return self.weights["one"]

    def accepts(self, learner):
        return None

    def too_narrow(self, seen):
        return ()

    def call(self, learner, *arguments, seed=0):
        """Lo que da el módulo de quien aprende con los pesos de la prueba."""
        if learner is not self.learner:
            found = self.candidates(learner)
            if not isinstance(found, tuple):
                return running.Outcome(problem=found, unsolved=found is None)
            self.__dict__ = self.bound(learner, found[1][0], found[0]).__dict__
        wanted = next(
            (case for case in self.all_cases() if same(case.arguments, arguments, 0, 0)), None
        )
        weights = self.case_weights(wanted) if wanted else self.weights_for(4, 12)
        return self.run_with(learner, weights, arguments, seed)

    def run(self, learner, case):
        return self.run_with(learner, self.case_weights(case), case.arguments)

    def run_with(self, learner, weights, arguments, seed=0, keep=False):
        """Lo que devuelve, o lo que W_O no admite. Con ``keep``, también el módulo."""
        refused, made, (query, key, value, mask) = [], [], arguments

        def work(query, key, value, mask):
            module = build(learner, weights.heads, weights.width, self.flipped)
            made.append(module)
            outputs = head_layers.fill(module, self.plan, weights)
            for layer in outputs:
                layer.register_forward_pre_hook(
                    lambda layer, inputs: refused.append((layer, inputs))
                )
            if mask is None:
                return module(query, key, value)
            named = inspect.signature(module.forward).parameters
            return (
                module(query, key, value, mask=mask)
                if "mask" in named
                else module(query, key, value, mask)
            )

        outcome = running.call(work, query, key, value, mask, seed=seed)
        if keep:
            return made[0], outcome
        if outcome.problem and outcome.problem.id == "error" and refused:
            # W_O no admite lo que le llega: es eso lo que se mira.
            layer, inputs = refused[-1]
            if (
                inputs
                and isinstance(inputs[0], torch.Tensor)
                and inputs[0].shape[-1] != layer.in_features
            ):
                return outcome._replace(value=inputs[0].detach(), problem=None)
        return outcome

    def is_random(self, case):
        """Por qué dos llamadas iguales no dan lo mismo: capas nuevas en cada una, o capas raras."""
        called = []
        handle = nn.modules.module.register_module_forward_pre_hook(lambda m, _: called.append(m))
        try:
            module, _ = self.run_with(
                self.learner, self.case_weights(case), case.arguments, keep=True
            )
        finally:
            handle.remove()
        known = [layer.owner for layer in head_layers.layers_of(module)]
        if any(
            isinstance(layer, nn.Linear) and not any(layer is k for k in known) for layer in called
        ):
            return structural("capas-en-forward")
        return self.strange() if self.plan.unknown else super().is_random(case)

    def strange(self):
        """No se sabe qué capas son estas."""
        layers = ", ".join(f"{path} {shape}" for path, shape in self.plan.unknown[:5])
        text = "No reconozco tus capas: esperaba cuatro nn.Linear de d_model a d_model."
        return Finding("capas", text, f"Con 4 cabezas y d_model = 12, esto no sé qué es: {layers}.")

    # --- La cuenta ------------------------------------------------------------------------------

    def sizes(self, case):
        wide = self.plan.kind.get("query", [""])[0] == "ancha"
        return family.Sizes(
            case.heads, case.width, case.width if wide else case.width // case.heads
        )

    def project(self, case, role, x, how="own"):
        matrix, bias = self.layer(case, role)
        if how == "turned":
            return x @ matrix
        return x @ matrix.T if bias is None or how == "no-bias" else x @ matrix.T + bias

    def _layer(self, case, role):
        return head_layers.effective(self.plan, self.case_weights(case), role)

    def projected(self, case, role, source, how, batch):
        x = case.arguments[family.ROLES.index(source)]
        x = x.transpose(0, 1) if batch else x
        if how == "none":
            return x
        if how == "twice":
            return self.project(case, role, self.project(case, role, x))
        if how in family.ROLES:
            return self.project(case, how, x)
        return self.project(case, role, x, how)

    def compute(self, choice, case):
        query, key, _, mask = case.arguments
        if choice["batch"] and query.shape != key.shape:
            raise ValueError
        traced = self.attend(choice, case, mask)
        concat, how = traced["concat"], choice["output"]
        wanted = self.width_in(case, how)
        if how in ("own", "twice", "residual") and concat.shape[-1] != wanted:
            output = concat  # W_O no lo admite
        elif how == "none":
            output = concat
        elif how == "twice":
            output = self.project(case, "output", self.project(case, "output", concat))
        elif how == "residual":
            output = self.project(case, "output", concat)
            output = output + case.arguments[family.ROLES.index(choice["sources"][0])]
        elif how in family.ROLES:
            output = self.project(case, how, concat)
        else:
            output = self.project(case, "output", concat, how)
        return traced | {"output": output.transpose(0, 1) if choice["batch"] else output}

    def width_in(self, case, how):
        kinds = self.plan.kind.get("output", ["entera"])
        if len(kinds) > 1 or how in family.ROLES:
            return None if how in family.ROLES else case.width
        d_k = case.width // case.heads
        return {"estrecha": d_k, "ancha-salida": case.heads * case.width}.get(kinds[0], case.width)

    # --- Contarlo -------------------------------------------------------------------------------

    def judge(self, learner, seen, values):
        findings, notes = super().judge(learner, seen, values)
        static = list(self.layout())
        broken = {finding.id for finding in findings}
        if self.plan.unknown and not self.plan.kind and not broken <= self.mistake_ids():
            static.append(self.strange())
        if broken <= self.mistake_ids():
            static += self.learning(learner)
        return static + findings, [] if static else notes

    def layout(self):
        """Lo que está mal en las capas, sin ejecutar nada."""
        kinds = [(role, self.plan.kind.get(role, ["entera"])) for role in family.ROLES]
        names = {"trozo": "reparte-antes", "ancha": "cabezas-anchas"}
        wrong = [names.get(kind[0]) for _, kind in kinds if kind[0] in names]
        wrong += ["misma-proyección-en-todas" for _, kind in kinds if kind == ["cabeza"]]
        for name in dict.fromkeys(wrong):
            yield structural(name)
        homes = set(self.plan.homes.values()) - {""}
        for home, name in (("lista", "lista-de-python"), ("tensor", "tensor-sin-parameter")):
            if home in homes:
                unseen = [path for path, where in self.plan.homes.items() if where == home]
                yield structural(name, f"No se ven: {listed(unseen)}.")
        if self.flipped:
            yield structural("constructor-al-revés")

    def learning(self, learner):
        """Si el gradiente llega a todo lo que se usa, y si sobra algo."""
        query, key, value, _ = WIDE[0].arguments
        weights, box = self.case_weights(WIDE[0]), {}

        def work():
            module = build(learner, 4, 12, self.flipped)
            head_layers.fill(module, self.plan, weights)
            output = self.main(module(query, key, value), WIDE[0])
            if output.requires_grad:
                (output * torch.randn_like(output)).sum().backward()
            box["module"] = module

        if running.call(work).problem or not box:
            return
        module, idle = box["module"], self.idle()
        layers = [x for x in head_layers.layers_of(module) if x.path.strip(".") in self.plan.homes]
        still = [x for x in layers if x.weight.grad is None and x.home != "tensor"]
        stuck = [x.path.strip(".") for x in still if not idle & set(self.plan.roles(x.path))]
        if stuck:
            yield structural("corta-el-gradiente", f"No llega a {listed(stuck)}.")
        ours = {id(x) for layer in layers for x in (layer.weight, layer.bias)}
        spare = {
            n: p.numel()
            for n, p in module.named_parameters()
            if p.grad is None and id(p) not in ours
        }
        if spare and len(stuck) < len(layers):
            total = sum(p.numel() for p in module.parameters())
            story = (
                f"Con 4 cabezas y d_model = 12 tiene {total}, y {sum(spare.values())} no hacen nada "
                f"({', '.join(list(spare)[:3])})."
            )
            yield structural("parámetros-de-más", story)

    def idle(self):
        """Las capas que, por los errores ya reconocidos, no se usan."""
        chosen = self.chosen(self.choice)
        hows = (*chosen["projections"], chosen["project_v"])
        used = {role if how == family.OWN else how for role, how in zip(family.ROLES, hows)}
        used |= {
            role for role, how in zip(family.ROLES, hows) if how not in (*family.ROLES, "none")
        }
        used |= {chosen["output"]} if chosen["output"] in family.ROLES else set()
        lost = {m.id for option in self.choice.values() for m in option.mistakes}
        unused = set(family.ROLES) - used
        if lost & {"key-por-value", "query-por-value", "sin-value"}:
            unused.add("value")
        if lost & {"sin-W_O", "W_O-es-otra"}:
            unused.add("output")
        if lost & {
            "solo-la-primera-cabeza",
            "solo-la-última-cabeza",
            "suma-por-value",
            "falta-trasponer",
        }:
            unused |= set(family.ROLES)
        if any(name.startswith("softmax-") for name in lost):
            unused |= {"query", "key"}  # alguna no deja pasar el gradiente
        return unused

    def mistake_ids(self):
        joint = {"una-sola-proyección", "proyecciones-cambiadas", "solo-query", "otro-orden"}
        return super().mistake_ids() | joint | set(STRUCTURE)

    def form(self, values, choice):
        """Lo que se devuelve como pesos: por cabeza o, si no, su media, que también vale."""
        full = {}
        for case, value in values.items():
            if isinstance(value, tuple) and len(value) == 2 and value[1] is not None:
                traced = self.trace(choice, case)
                if (
                    traced is None
                    or value[1].dim() == 3
                    and self.averaged(value[1], traced["weights"])
                ):
                    continue
            full[case] = value
        return super().form(full, choice)

    @staticmethod
    def averaged(weights, by_head):
        return same(weights, by_head.mean(1)) or same(weights, by_head.flatten(0, 1))

    def main(self, value, case):
        if not isinstance(value, tuple):
            return value
        first, second = (*value, None)[:2]
        shape = case.arguments[0].shape
        if second is not None and first is not None and first.shape != shape == second.shape:
            return second
        return first

    def probe(self, learner, query, key, value, mask):
        """Una cabeza con matrices identidad: la atención sola, para medir en ella."""
        d_k = query.shape[-1]
        weights = head_layers.draw_weights(1, d_k, seed=0)
        for role in head_layers.ROLES:
            weights.matrix[role], weights.bias[role] = torch.eye(d_k), torch.zeros(d_k)
        query, key = query[:, 0], key[:, 0]
        value = torch.nn.functional.pad(value[:, 0], (0, d_k - value.shape[-1]))
        outcome = self.run_with(learner, weights, (query, key, value, mask))
        output = outcome.value
        output = output[0] if isinstance(output, tuple) and output else output
        return (
            float(output.detach()[0, 0, 0])
            if isinstance(output, torch.Tensor) and output.dim() == 3
            else None
        )

    def extra_options(self, learner):
        scales = [
            Option((lambda q, k, sizes, f=o.value: f(q, k, None), False), o.mistake)
            for o in self.found_scale(learner)
        ]
        return {"scale": scales, "mask": list(self.found_fill(learner))}

    def properties(self, learner, seen):
        """Lo que tiene que cumplir cualquier multi-cabeza."""
        for case, output in seen.items():
            if not isinstance(output, torch.Tensor):
                continue
            query, key, value, mask = case.arguments
            if output.shape != query.shape:
                text = "La forma de tu salida no es (B, L_q, d_model)."
                story = f"Con {case.name} mide {tuple(output.shape)} y tenía que medir {tuple(query.shape)}."
                yield Finding("propiedad-forma", text, story, "06 §8")
                return
            if not output.isfinite().all():
                bad = int((~output.isfinite()).sum())
                story = f"Con {case.name}, {bad} de {output.numel()} son NaN o ∞."
                yield Finding(
                    "propiedad-finita",
                    "Tu salida tiene números que no son finitos.",
                    story,
                    "05 §2",
                )
                return
        yield from self.independence(learner)

    def independence(self, learner):
        """Una frase del lote no cambia a otra; barajar las keys con sus values no cambia nada."""
        query, key, value, _ = WIDE[1].arguments
        weights = self.weights_for(4, 12)
        base = self.first(self.run_with(learner, weights, (query, key, value, None)))
        touched = [x.clone() for x in (query, key, value)]
        for x in touched:
            x[1] += 1.0
        other = self.first(self.run_with(learner, weights, (*touched, None)))
        if base is not None and other is not None and not same(base[0], other[0]):
            moved = show((base[0] - other[0]).abs().max())
            story = (
                f"Al cambiar la segunda frase de un lote, la salida de la primera se mueve {moved}."
            )
            yield Finding(
                "propiedad-lote",
                "Las frases del lote se mezclan, y cada una va por su lado.",
                story,
                "06 §6",
            )
        shuffled = self.first(
            self.run_with(learner, weights, (query, key.flip(1), value.flip(1), None))
        )
        if base is not None and shuffled is not None and not same(base, shuffled):
            moved = show((base - shuffled).abs().max())
            story = f"Al dar la vuelta a las keys con sus values, la salida se mueve {moved}."
            text = "El orden de las keys no puede importar si cada una lleva su value."
            yield Finding("propiedad-orden", text, story, "06 §6")

    def first(self, outcome):
        value = outcome.value
        value = value[0] if isinstance(value, tuple) and value else value
        return value.detach() if isinstance(value, torch.Tensor) and value.dim() == 3 else None

    def notes(self, learner, seen):
        """Lo que vale y es distinto de la biblioteca."""
        value = self.run(learner, WIDE[0]).value
        if (
            isinstance(value, tuple)
            and len(value) > 1
            and value[1] is not None
            and value[1].dim() == 3
        ):
            yield "los pesos que devuelves son la media de las cabezas; los de course_lib, uno por cabeza."
        if any(isinstance(seen.get(case), Raised) for case in MASKED):
            yield "tu código no admite una máscara (L_q, L_k), que se difunde; la de course_lib, sí."
        nobody = torch.ones(2, 1, 5, 5, dtype=torch.bool)
        nobody[:, :, 0] = False
        blocked = self.run_with(learner, self.weights_for(4, 12), (*WIDE[0].arguments[:3], nobody))
        output = self.first(blocked)
        if output is not None and output.isnan().any():
            yield (
                "si una query no puede ver a nadie, tu salida es NaN; en course_lib, sus pesos son 0. Lo "
                "cuenta 04 §7."
            )
