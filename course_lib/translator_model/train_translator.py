"""Entrena el traductor del curso con un archivo de frases, y lo deja listo para usarse.

    python -m course_lib.train_translator frases.tsv --carpeta salida

Cada línea del archivo es «inglés, tabulador, español», en UTF-8. Las frases del curso son del
proyecto Tatoeba (tatoeba.org, CC BY 2.0 FR); se bajan ya emparejadas de manythings.org/anki,
archivo ``spa-eng.zip`` (lo que venga detrás de un segundo tabulador no se lee). Para validar
aparta unas cuantas; con ``--validacion otras.tsv`` usa las de ese archivo.

Al final de cada época guarda un punto de control, ``control.safetensors``. Si el programa se
corta, la misma orden sigue por la época en que iba y da los mismos pesos. Al acabar deja en la
carpeta ``model.safetensors`` (en 16 bits), ``config.json`` y ``tokenizer.json``: con
``course_lib.translator.read_translator(carpeta)`` se usan. Con ``--desde carpeta`` sigue con los
pesos de otro, más despacio: así se acabó el del curso, y así se adapta a otras frases.

Fuente: Vaswani et al., «Attention Is All You Need» (2017), §5, a menor escala y con otra
receta (``RECIPE``).
"""

import argparse
import hashlib
import json
import math
import random
import re
import unicodedata
from collections import Counter
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from torch.nn.attention import SDPBackend, sdpa_kernel
from tqdm import tqdm

from course_lib.training import batches_by_length, learning_rate, pad_ids, target_loss
from course_lib.transformer import Transformer
from course_lib.translator import TranslatorError, read_translator

SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]  # relleno, desconocido, inicio y fin
BOS, EOS = 2, 3  # sus lugares en esa lista

CONFIGURATION = {
    "vocab_size": 8000,
    "dim_embedding": 192,
    "max_sequence_len": 128,
    "heads": 4,
    "Nx": 3,
    "Nx_decoder": 2,
    "increment": 512 / 192,
}
RECIPE = {
    "epochs": 32,
    "seed": 1,
    "max_tokens": 2600,
    "peak": 1.5e-3,
    "peak_of_matrices": 2e-3,
    "weight_decay": 0.05,
    "warmup_steps": 300,
    "dropout": 0.2,
    "smoothing": 0.1,
    "average": 0.999,
    "invented_names": 0.03,
    "no_full_stop": 0.03,
    "split": 0.1,
    "whole_epochs": 3,
    "joined": 0.0,
    "bfloat16": True,
}
# Para seguir con pesos ya entrenados: más despacio, y casi la mitad sin partir los tokens de más.
FINISHING = RECIPE | {
    "epochs": 22,
    "peak": 1e-3,
    "peak_of_matrices": 1.35e-3,
    "warmup_steps": 100,
    "average": 0.998,
    "whole_epochs": 10,
    "joined": 0.08,
}


# --- las frases ------------------------------------------------------------------------------


def read_pairs(path):
    """Lee un archivo de frases: → lista de pares ``(inglés, español)``.

    Raises:
        ValueError: si no es UTF-8 o si a una línea le falta el tabulador o una de las dos
            frases; el mensaje dice cuál.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: no es un texto en UTF-8. Guárdalo en UTF-8 y repite.") from None
    pairs = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        english, _, rest = line.partition("\t")
        spanish = rest.partition("\t")[0]
        if not english.strip() or not spanish.strip():
            raise ValueError(
                f"{path}, línea {number}: cada línea es «inglés, tabulador, español» y esta es "
                f"{line[:60]!r}."
            )
        pairs.append((english.strip(), spanish.strip()))
    if not pairs:
        raise ValueError(f"{path}: no tiene ninguna frase.")
    return pairs


def hold_out(pairs, sentences=1500):
    """Aparta parejas para validar: → ``(para entrenar, para validar)``.

    Elige frases inglesas al azar, siempre las mismas, y se lleva todas sus traducciones: lo
    que se valida no se ha visto. De un archivo pequeño aparta una décima parte.
    """
    english = sorted({pair[0] for pair in pairs})
    chosen = set(random.Random(0).sample(english, min(sentences, max(1, len(english) // 10))))
    return [p for p in pairs if p[0] not in chosen], [p for p in pairs if p[0] in chosen]


NAME = re.compile(r"\b[A-Z][a-z]+\b")
NUMBER = re.compile(r"\b[0-9]{2,}\b")
SYLLABLES = re.findall(
    r"\w+", "KA LO MI TRE VAN SA DOR EL BRI NA ZO KE FIN LU PA GER ROD WEN SHI CHA MU RO BEL YA"
)


def proper_names(pairs):
    """Las palabras que se escriben (casi) siempre con mayúscula: → conjunto."""
    words = Counter(word for pair in pairs for text in pair for word in re.findall(r"\w+", text))
    return {w for w in words if NAME.fullmatch(w) and words[w.lower()] * 100 < words[w]}


def vary(pair, rng, names, invented_names=0.0, no_full_stop=0.0):
    """Cambia a veces un par, para que el modelo aprenda a copiar lo que no conoce.

    Un nombre propio que está igual en las dos lenguas puede pasar a ser otro
    inventado; un número, otro número; y un punto final puede desaparecer de las dos.

    Args:
        pair: ``(inglés, español)``.
        rng: un ``random.Random``.
        names: los nombres propios que se pueden cambiar (``proper_names``).
        invented_names, no_full_stop: probabilidad de cada cambio.
    """
    english, spanish = pair
    for pattern in (NAME, NUMBER):
        for word in sorted(set(pattern.findall(english)) & set(pattern.findall(spanish))):
            if (pattern is NUMBER or word in names) and rng.random() < invented_names:
                if pattern is NAME:
                    new = "".join(rng.choices(SYLLABLES, k=rng.randint(2, 3))).capitalize()
                else:
                    new = str(rng.randint(1, 9)) + "".join(
                        rng.choices("0123456789", k=len(word) - 1)
                    )
                english = re.sub(rf"\b{word}\b", new, english)
                spanish = re.sub(rf"\b{word}\b", new, spanish)
    if english.endswith(".") and spanish.endswith(".") and rng.random() < no_full_stop:
        english, spanish = english[:-1], spanish[:-1]
    return english, spanish


def join(pairs, rng, fraction, longest=24):
    """A veces junta dos parejas en una: así ve más frases largas.

    Args:
        pairs: lista de pares.
        rng: un ``random.Random``.
        fraction: probabilidad de que a una pareja le siga otra, elegida al azar.
        longest: no junta dos si, en alguna de las lenguas, pasan de estas palabras.
    """
    new = []
    for english, spanish in pairs:
        if rng.random() < fraction:
            more = rng.choice(pairs)
            both = f"{english} {more[0]}", f"{spanish} {more[1]}"
            if max(len(text.split()) for text in both) <= longest:
                english, spanish = both
        new.append((english, spanish))
    return new


# --- el tokenizador --------------------------------------------------------------------------


def train_tokenizer(pairs, vocab_size):
    """Aprende un vocabulario BPE común a las dos lenguas (Sennrich et al., 2016).

    Las palabras llevan delante «▁», que marca el espacio; la puntuación va suelta, y cada
    cifra, también.
    """
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.NFC(),
            normalizers.Replace(Regex("[‘’´`]"), "'"),
            normalizers.Replace(Regex("[“”«»„]"), '"'),
            normalizers.Replace("…", "..."),
            normalizers.Replace(Regex("[–—]"), "-"),
            normalizers.Replace(Regex(r"\s+"), " "),
            normalizers.Strip(),
        ]
    )
    pieces = Regex(r"▁?[\p{L}\p{M}']*\p{L}|▁?[^\p{L}▁]|▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(prepend_scheme="always", split=False),
            pre_tokenizers.Split(pieces, behavior="isolated"),
        ]
    )
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always", split=False)
    letters = [unicodedata.normalize("NFC", text) for pair in pairs for text in pair]
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=SPECIAL, limit_alphabet=130, show_progress=False
    )
    tokenizer.train_from_iterator(letters, trainer)
    return tokenizer


def encode(tokenizer, texts):
    """Ids de cada texto, con la marca de fin: lista de listas."""
    return [encoding.ids + [EOS] for encoding in tokenizer.encode_batch(texts)]


def halves(tokenizer):
    """De qué dos se hace cada token: → diccionario ``{id: (id, id)}``, sin los que son una letra."""
    ids = tokenizer.get_vocab()
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return {ids[first + second]: (ids[first], ids[second]) for first, second in merges}


def split_tokens(ids, halves, fraction, rng):
    """Parte al azar algunos tokens en los trozos de que se hicieron: la misma frase, de otro modo.

    Con una sola forma de partir cada palabra, el modelo memoriza más las frases; con muchas, ve
    también de qué trozos se hace cada una.

    Args:
        ids: lista de ids.
        halves: véase ``halves``.
        fraction: probabilidad de partir cada token en sus dos mitades, y cada mitad en las suyas,
            de 0 (ninguno) a 1 (quedan las letras).
        rng: un ``random.Random``.

    Fuente: Provilkov et al., «BPE-Dropout» (2020); aquí se deshacen uniones ya hechas, en vez de
    saltárselas, y así depende solo de ``rng``.
    """
    pieces, pending = [], ids[::-1]
    while pending:
        token = pending.pop()
        if token in halves and rng.random() < fraction:
            pending.extend(reversed(halves[token]))
        else:
            pieces.append(token)
    return pieces


# --- el entrenamiento ------------------------------------------------------------------------


def new_model(configuration, dropout=0.0):
    """Un ``Transformer`` del curso con una sola tabla para las dos lenguas y la salida."""
    options = dict(configuration)
    vocab_size = options.pop("vocab_size")
    return Transformer(vocab_size, vocab_size, share_embeddings=True, dropout=dropout, **options)


def new_optimizers(model, recipe):
    """Adam para la tabla, los sesgos y las normalizaciones; Muon para las demás matrices.

    Muon mueve cada matriz en una dirección ortogonal: aprende lo mismo en menos pasos.

    Fuente: Kingma y Ba, «Adam» (2015); Jordan et al., «Muon» (2024); la escala, Liu et al.
    (2025, arXiv 2502.16982), §2.2.
    """
    table = model.output_projection.weight
    matrices = [p for p in model.parameters() if p.ndim == 2 and p is not table]
    others = [p for p in model.parameters() if p.ndim != 2 or p is table]
    return (
        torch.optim.Adam(others, lr=recipe["peak"], betas=(0.9, 0.98), eps=1e-9, fused=True),
        torch.optim.Muon(
            matrices,
            lr=recipe["peak_of_matrices"],
            weight_decay=recipe["weight_decay"],
            adjust_lr_fn="match_rms_adamw",
        ),
    )


@torch.no_grad()
def evaluate(model, pairs, max_tokens):
    """Pérdida media por token, sin suavizar, y fracción de tokens acertados, con teacher forcing."""
    model.eval()
    loss = hits = total = 0
    for batch in batches_by_length(pairs, max_tokens, seed=0):
        source, target = (pad_ids([pairs[i][side] for i in batch]) for side in (0, 1))
        batch_loss, batch_hits, tokens = target_loss(model, source, target, BOS)
        loss += batch_loss.item() * tokens.item()
        hits += batch_hits.item()
        total += tokens.item()
    return loss / total, hits / total


def _that_fit(ids, longest):
    fitting, total = [], 0
    for pair in ids:
        total += 1
        if max(map(len, pair)) <= longest:
            fitting.append(pair)
    if len(fitting) < total:
        tqdm.write(
            f"{total - len(fitting)} parejas de {total} pasan de {longest} tokens: no se usan"
        )
    if not fitting:
        raise ValueError(f"Ninguna pareja cabe en {longest} tokens. Parte las frases y repite.")
    return fitting


def train(pairs, validation, folder, configuration=CONFIGURATION, recipe=RECIPE, start=None):
    """Entrena y guarda en ``folder`` el tokenizador, los puntos de control y el modelo final.

    Args:
        pairs, validation: listas de pares ``(inglés, español)``.
        folder: dónde se guarda; si ya hay un punto de control con la misma receta, sigue desde él.
        configuration, recipe: véanse las de este módulo.
        start: carpeta de un traductor ya entrenado con este programa; si se da, se parte de sus
            pesos, con su tokenizador y sus medidas.

    Las parejas que no caben en ``max_sequence_len`` tokens se dejan fuera, y se dice cuántas.

    Raises:
        ValueError: si en la carpeta hay un punto de control con otra receta, otras medidas u otras
            frases, si ninguna pareja cabe, o si en ``start`` no hay un traductor.
    """
    first = _read_start(start) if start is not None else None
    if first:
        configuration = json.loads((Path(start) / "config.json").read_text(encoding="utf-8"))
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    learnt = folder / "tokenizer.json"
    if first:
        tokenizer = first.tokenizer
    elif learnt.is_file():
        tokenizer = Tokenizer.from_file(str(learnt))
    else:
        tokenizer = train_tokenizer(pairs, configuration["vocab_size"])
    configuration = {**configuration, "vocab_size": tokenizer.get_vocab_size()}
    names, parts = proper_names(pairs), halves(tokenizer)
    longest = configuration["max_sequence_len"]
    held_out = _that_fit(zip(*(encode(tokenizer, side) for side in zip(*validation))), longest)

    torch.manual_seed(recipe["seed"])
    model = new_model(configuration, recipe["dropout"])
    if first:
        model.load_state_dict(first.model.state_dict())
    averaged = new_model(configuration)
    averaged.load_state_dict(model.state_dict())
    optimizers = new_optimizers(model, recipe)
    origin = {
        "receta": recipe,
        "medidas": configuration,
        "frases": _digest(repr(pairs).encode()),
        "partida": _digest((Path(start) / "model.safetensors").read_bytes()) if first else None,
    }
    state = _resume(folder, model, averaged, optimizers, origin)
    tokenizer.save(str(learnt))
    history = state["history"]
    peaks = recipe["peak"], recipe["peak_of_matrices"]
    for epoch in range(state["epoch"], recipe["epochs"]):
        seed = recipe["seed"] * 1000 + epoch
        torch.manual_seed(seed)
        rng = random.Random(seed)
        options = names, recipe["invented_names"], recipe["no_full_stop"]
        varied = [vary(pair, rng, *options) for pair in pairs]
        if recipe["joined"]:
            varied = join(varied, rng, recipe["joined"])
        english, spanish = zip(*varied)
        # Las últimas épocas, con las palabras partidas como al traducir.
        split = recipe["split"] if epoch < recipe["epochs"] - recipe["whole_epochs"] else 0.0
        sides = (
            [split_tokens(sentence, parts, split, rng) for sentence in encode(tokenizer, side)]
            for side in (english, spanish)
        )
        ids = _that_fit(zip(*sides), longest)
        batches = batches_by_length(ids, recipe["max_tokens"], seed)
        if not state["total_steps"]:
            state["total_steps"] = len(batches) * recipe["epochs"]
        model.train()
        running = None
        bar = tqdm(
            batches, desc=f"época {epoch + 1}/{recipe['epochs']}", unit="lote", mininterval=5
        )
        for batch in bar:
            rate = learning_rate(state["step"], state["total_steps"], 1.0, recipe["warmup_steps"])
            for optimizer, peak in zip(optimizers, peaks):
                optimizer.param_groups[0]["lr"] = rate * peak
            source, target = (pad_ids([ids[i][side] for i in batch]) for side in (0, 1))
            half = torch.autocast("cpu", torch.bfloat16, enabled=recipe["bfloat16"])
            with half, sdpa_kernel(SDPBackend.MATH):
                loss, _, _ = target_loss(model, source, target, BOS, recipe["smoothing"])
            model.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for optimizer in optimizers:
                optimizer.step()
            state["step"] += 1
            # La media móvil de los pesos traduce mejor que los últimos pesos (Polyak y Juditsky, 1992).
            keep = min(recipe["average"], state["step"] / (state["step"] + 10))
            with torch.no_grad():
                for mean, parameter in zip(averaged.parameters(), model.parameters()):
                    mean.lerp_(parameter, 1 - keep)
            running = loss.item() if running is None else 0.98 * running + 0.02 * loss.item()
            bar.set_postfix(pérdida=f"{running:.3f}", refresh=False)
        loss, hits = evaluate(averaged, held_out, recipe["max_tokens"])
        last_loss, _ = evaluate(model, held_out, recipe["max_tokens"])
        history.append([running, loss, hits, last_loss])
        state["epoch"] = epoch + 1
        _save(folder, model, averaged, optimizers, origin, state)
        tqdm.write(
            f"época {epoch + 1}: pérdida {running:.3f}; en validación, perplejidad "
            f"{math.exp(loss):.3f} (sin promediar, {math.exp(last_loss):.3f}) y {hits:.3f} de los "
            "tokens acertados"
        )
    export(averaged, configuration, folder)
    return averaged, tokenizer


def _read_start(folder):
    try:
        return read_translator(folder)
    except TranslatorError:
        raise ValueError(
            f"{folder}: no hay un traductor que se pueda leer. Con --desde va la carpeta que deja un "
            "entrenamiento cuando acaba."
        ) from None


def export(model, configuration, folder):
    """Guarda en ``folder`` los pesos en 16 bits, sin repetir los compartidos, y la configuración."""
    half = {name: tensor.half() for name, tensor in _own(model).items()}
    save_file(half, folder / "model.safetensors")
    text = json.dumps(configuration, indent=2)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")


def _digest(data):
    return hashlib.sha256(data).hexdigest()


def _save(folder, model, averaged, optimizers, origin, state):
    tensors = {f"model.{name}": tensor for name, tensor in _own(model).items()}
    tensors |= {f"averaged.{name}": tensor for name, tensor in _own(averaged).items()}
    for k, optimizer in enumerate(optimizers):
        for i, values in optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{k}.{i}.{name}": tensor for name, tensor in values.items()}
    new = folder / "control.nuevo"
    save_file(tensors, new, {"origin": json.dumps(origin), "state": json.dumps(state)})
    new.replace(folder / "control.safetensors")  # si se corta a medias, queda el anterior


def _resume(folder, model, averaged, optimizers, origin):
    path = folder / "control.safetensors"
    if not path.is_file():
        return {"epoch": 0, "step": 0, "total_steps": 0, "history": []}
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    saved = json.loads(metadata.get("origin", "{}"))
    different = [name for name, value in origin.items() if saved.get(name) != value]
    if different:
        raise ValueError(
            f"{path} es de otro entrenamiento: cambian {' y '.join(different)}. Elige otra carpeta o "
            "bórralo."
        )
    for prefix, module in (("model.", model), ("averaged.", averaged)):
        parameters = dict(module.named_parameters())
        with torch.no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(tensors[prefix + name])
    moments = [{} for _ in optimizers]
    for name, tensor in tensors.items():
        if name.startswith("optimizer."):
            _, k, i, key = name.split(".")
            moments[int(k)].setdefault(int(i), {})[key] = tensor
    for optimizer, state in zip(optimizers, moments):
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": state, "param_groups": groups})
    return json.loads(metadata["state"])


def _own(model):
    """Los parámetros, sin repetir los que comparten memoria."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m course_lib.train_translator",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("frases", help="archivo de líneas «inglés, tabulador, español»")
    parser.add_argument(
        "--validacion",
        help="otro archivo igual, con otras frases; si falta, se apartan de las mismas",
    )
    parser.add_argument("--carpeta", required=True, help="dónde se guarda todo")
    parser.add_argument(
        "--desde",
        help="carpeta de otro traductor entrenado con este programa: sigue con sus pesos, más despacio",
    )
    parser.add_argument(
        "--epocas",
        type=int,
        help=f"{RECIPE['epochs']}; con --desde, {FINISHING['epochs']}. Las últimas "
        f"({RECIPE['whole_epochs']}; con --desde, {FINISHING['whole_epochs']}) ven las "
        "palabras partidas como al traducir, sin partirlas más",
    )
    parser.add_argument("--semilla", type=int, default=RECIPE["seed"])
    parser.add_argument(
        "--en-32-bits",
        action="store_true",
        help="sin bfloat16: con un procesador que no lo tiene, va más deprisa",
    )
    options = parser.parse_args(arguments)
    recipe = (FINISHING if options.desde else RECIPE) | {
        "seed": options.semilla,
        "bfloat16": not options.en_32_bits,
    }
    if options.epocas is not None:
        recipe["epochs"] = options.epocas
    try:
        pairs = read_pairs(options.frases)
        if options.validacion:
            validation = read_pairs(options.validacion)
        else:
            pairs, validation = hold_out(pairs)
        train(pairs, validation, options.carpeta, recipe=recipe, start=options.desde)
    except (OSError, ValueError) as error:
        parser.exit(1, f"{error}\n")


if __name__ == "__main__":
    main()
