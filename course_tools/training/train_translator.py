"""Entrena el traductor del curso con un archivo de frases, y lo deja listo para usarse.

    python -m course_tools.training.train_translator frases.tsv --carpeta salida

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
import json
import math
import random
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch.nn.attention import SDPBackend, sdpa_kernel
from tqdm import tqdm

from course_lib.training import (
    learning_rate,
    pad_ids,
    target_loss,
)
from course_lib.transformer import Transformer
from course_lib.translator_model.checks import TranslatorError
from course_lib.translator_model.marks import BOS
from course_lib.translator_model.pieces import whole_words
from course_lib.translator_model.weights import read_model
from course_tools.training.checkpoints import digest, export, resume, save_checkpoint
from course_tools.training.phrase_book import phrase_pairs, plain, read_first_sentences
from course_tools.training.sentences import (
    batches_by_length,
    hold_out,
    join,
    proper_names,
    read_pairs,
    seen_words,
    vary,
)
from course_tools.training.tokens import (
    encode,
    halves,
    split_tokens,
    train_tokenizer,
)

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
    "fraction": 1.0,
    "phrases": 0,
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
# Para acabar con el libro de frases: en cada época, parte de las frases y otras tantas suyas, nuevas.
WITH_PHRASES = FINISHING | {
    "epochs": 8,
    "peak": 3e-4,
    "peak_of_matrices": 4e-4,
    "warmup_steps": 50,
    "average": 0.995,
    "whole_epochs": 3,
    "invented_names": 0.2,
    "fraction": 0.35,
    "phrases": 30,
}


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


def train(
    pairs, validation, folder, configuration=CONFIGURATION, recipe=RECIPE, start=None, excluded=()
):
    """Entrena y guarda en ``folder`` el tokenizador, los puntos de control y el modelo final.

    Args:
        pairs, validation: listas de pares ``(inglés, español)``.
        folder: dónde se guarda; si ya hay un punto de control con la misma receta, sigue desde él.
        configuration, recipe: véanse las de este módulo.
        start: carpeta de un traductor ya entrenado con este programa; si se da, se parte de sus
            pesos, con su tokenizador y sus medidas.
        excluded: frases inglesas que no se ven: ni las de ``pairs`` ni las del libro de frases.

    Las parejas que no caben en ``max_sequence_len`` tokens se dejan fuera, y se dice cuántas.

    Raises:
        ValueError: si en la carpeta hay un punto de control con otra receta, otras medidas u otras
            frases, si ninguna pareja cabe, o si en ``start`` no hay un traductor.
    """
    forbidden = set(map(plain, excluded))
    pairs = [pair for pair in pairs if plain(pair[0]) not in forbidden]
    first = _read_start(start) if start is not None else None
    if first:
        configuration = json.loads((Path(start) / "config.json").read_text(encoding="utf-8"))
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    learnt = folder / "tokenizer.json"
    if first:
        tokenizer = first[1]
    elif learnt.is_file():
        tokenizer = Tokenizer.from_file(str(learnt))
    else:
        tokenizer = train_tokenizer(pairs, configuration["vocab_size"])
    configuration = {**configuration, "vocab_size": tokenizer.get_vocab_size()}
    book = phrase_pairs(recipe["seed"], recipe["phrases"], excluded)
    names, parts = proper_names([*pairs, *book]), halves(tokenizer)
    longest = configuration["max_sequence_len"]
    held_out = _that_fit(zip(*(encode(tokenizer, side) for side in zip(*validation))), longest)

    torch.manual_seed(recipe["seed"])
    model = new_model(configuration, recipe["dropout"])
    if first:
        model.load_state_dict(first[0].state_dict())
    averaged = new_model(configuration)
    averaged.load_state_dict(model.state_dict())
    optimizers = new_optimizers(model, recipe)
    origin = {
        "receta": recipe,
        "medidas": configuration,
        "frases": digest(repr([pairs, book]).encode()),
        "partida": digest((Path(start) / "model.safetensors").read_bytes()) if first else None,
    }
    state = resume(folder, model, averaged, optimizers, origin)
    tokenizer.save(str(learnt))
    history = state["history"]
    peaks = recipe["peak"], recipe["peak_of_matrices"]
    for epoch in range(state["epoch"], recipe["epochs"]):
        seed = recipe["seed"] * 1000 + epoch
        torch.manual_seed(seed)
        rng = random.Random(seed)
        options = names, recipe["invented_names"], recipe["no_full_stop"]
        seen = pairs
        if recipe["fraction"] < 1:
            seen = rng.sample(pairs, round(recipe["fraction"] * len(pairs)))
        seen = seen + phrase_pairs(seed, recipe["phrases"], excluded)
        varied = [vary(pair, rng, *options) for pair in seen]
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
        save_checkpoint(folder, model, averaged, optimizers, origin, state)
        tqdm.write(
            f"época {epoch + 1}: pérdida {running:.3f}; en validación, perplejidad "
            f"{math.exp(loss):.3f} (sin promediar, {math.exp(last_loss):.3f}) y {hits:.3f} de los "
            "tokens acertados"
        )
    export(averaged, configuration, seen_words([*pairs, *book], whole_words(tokenizer)), folder)
    return averaged, tokenizer


def _read_start(folder):
    try:
        return read_model(folder)
    except TranslatorError:
        raise ValueError(
            f"{folder}: no hay un traductor que se pueda leer. Con --desde va la carpeta que deja un "
            "entrenamiento cuando acaba."
        ) from None


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m course_tools.training.train_translator",
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
    parser.add_argument(
        "--libro",
        action="store_true",
        help="con --desde: acaba con parte de las frases y con las del libro de frases "
        f"(phrase_book.json), {WITH_PHRASES['epochs']} épocas",
    )
    parser.add_argument("--sin", type=Path, help="archivo con frases que no se ven al entrenar")
    parser.add_argument("--semilla", type=int, default=RECIPE["seed"])
    parser.add_argument(
        "--en-32-bits",
        action="store_true",
        help="sin bfloat16: con un procesador que no lo tiene, va más deprisa",
    )
    options = parser.parse_args(arguments)
    if options.libro and not options.desde:
        parser.error("--libro va con --desde")
    chosen = WITH_PHRASES if options.libro else FINISHING if options.desde else RECIPE
    recipe = chosen | {
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
        excluded = read_first_sentences(options.sin) if options.sin else ()
        train(
            pairs,
            validation,
            options.carpeta,
            recipe=recipe,
            start=options.desde,
            excluded=excluded,
        )
    except (OSError, ValueError) as error:
        parser.exit(1, f"{error}\n")


if __name__ == "__main__":
    main()
