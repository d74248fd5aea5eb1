"""Escribir con un Transformer entrenado: token a token, con memoria o sin ella.

En cada paso el decoder puntúa todos los tokens y hay que elegir. *Greedy* se queda con el mejor;
la búsqueda en haz (*beam search*) lleva adelante varias frases a medias y elige al final.

Guardar las keys y los values de lo ya escrito (``course_lib.cache``) ahorra repetir en cada paso las
cuentas de todos los anteriores. La salida es la misma.

Fuente: Vaswani et al., «Attention Is All You Need» (2017), §6.1; la penalización por longitud, Wu
et al., «Google's Neural Machine Translation System» (2016), §7.
"""

import torch

from course_lib.cache import DecoderCache

BEAM = 16  # lo más ancho que se admite


class CachedDecoder:
    """El decoder de un ``Transformer``, un token cada vez. Guarda las keys y los values de lo leído.

    Args:
        model: un ``Transformer``.
        encoded: la salida del encoder, ``(N, m_E, d_model)``.
        source_mask: relleno del origen, ``(N, 1, 1, m_E)``.
    """

    def __init__(self, model, encoded, source_mask=None):
        self.model, self.encoded, self.source_mask = model, encoded, source_mask
        self.cache = DecoderCache(len(model.decoder.decoder.decoder_layers))

    def step(self, token_ids):
        """Lee un token más de cada frase y puntúa los que pueden venir: (N,) → (N, vocab_size)."""
        new = token_ids[:, None]
        x, _ = self.model.decoder(new, self.encoded, source_mask=self.source_mask, cache=self.cache)
        return self.model.output_projection(x[:, -1])

    def keep(self, rows):
        """Se queda con esas frases, en ese orden (una puede repetirse): ``rows``, ``(M,)``."""
        self.encoded = self.encoded[rows]
        if self.source_mask is not None:
            self.source_mask = self.source_mask[rows]
        self.cache.keep(rows)


class PlainDecoder(CachedDecoder):
    """Lo mismo con la caché vacía: cada paso vuelve a leer todo lo escrito."""

    def __init__(self, model, encoded, source_mask=None):
        super().__init__(model, encoded, source_mask)
        self.written = torch.empty(len(encoded), 0, dtype=torch.long)

    def step(self, token_ids):
        """Como el de ``CachedDecoder``, con todos los tokens leídos hasta ahora."""
        self.written = torch.cat([self.written, token_ids[:, None]], dim=1)
        x, _ = self.model.decoder(self.written, self.encoded, source_mask=self.source_mask)
        return self.model.output_projection(x[:, -1])

    def keep(self, rows):
        super().keep(rows)
        self.written = self.written[rows]


def greedy_search(model, encoded, longest, marks, cache=True):
    """Escribe siempre el token más probable, hasta la marca de fin.

    Args:
        model: un ``Transformer``.
        encoded: la salida del encoder para una frase, ``(1, m_E, d_model)``.
        longest: tokens que se escriben como mucho.
        marks: ``(bos, eos, prohibidos)``: ids de inicio y fin, y lista de los que no se escriben.
        cache: si se guardan las keys y los values.

    Returns:
        Lista de ids, con el de fin si ha llegado a él.
    """
    bos, eos, forbidden = marks
    decoder = (CachedDecoder if cache else PlainDecoder)(model, encoded)
    written, token = [], bos
    while token != eos and len(written) < longest:
        scores = decoder.step(torch.tensor([token]))[0]
        scores[forbidden] = -torch.inf
        token = scores.argmax().item()
        written.append(token)
    return written


def beam_search(model, encoded, longest, marks, cache=True, width=4, alpha=0.6):
    """Lleva a la vez las ``width`` frases a medias más probables y devuelve los ids de la mejor acabada.

    Las frases largas multiplican más probabilidades y siempre saldrían perdiendo: se
    compara la suma de logaritmos dividida por ((5 + L) / 6)^α.

    Args:
        model, encoded, longest, marks, cache: como en ``greedy_search``.
        width: el ancho del haz.
        alpha: cuánto se compensa la longitud (0.6 en el artículo).
    """
    bos, eos, forbidden = marks
    decoder = (CachedDecoder if cache else PlainDecoder)(model, encoded)
    beams, totals = [[]], torch.zeros(1)  # lo escrito y su log-probabilidad
    tokens, finished = torch.tensor([bos]), []
    for length in range(1, longest + 1):
        scores = decoder.step(tokens)
        scores[:, forbidden] = -torch.inf
        sums = totals[:, None] + scores.log_softmax(dim=-1)  # (frases, vocab_size)
        # Como mucho una continuación de cada frase es la de acabar: con 2·width sobran abiertas.
        best, where = sums.flatten().topk(min(2 * width, sums.numel()))
        rows, choices = where // sums.shape[1], where % sums.shape[1]
        norm = ((5 + length) / 6) ** alpha
        finished += [
            (total / norm, [*beams[row], eos])
            for total, row, choice in zip(best.tolist(), rows.tolist(), choices.tolist())
            if choice == eos
        ]
        going = ((choices != eos) & best.isfinite()).nonzero()[:width, 0]
        rows, tokens, totals = rows[going], choices[going], best[going]
        beams = [[*beams[row], token] for row, token in zip(rows.tolist(), tokens.tolist())]
        # Seguir solo baja una suma de logaritmos; lo que más puede ganar es la longitud.
        if len(finished) >= width and max(finished)[0] >= totals[0] / ((5 + longest) / 6) ** alpha:
            break
        decoder.keep(rows)
    return max(finished)[1] if finished else beams[0]
