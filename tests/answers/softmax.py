"""5.1: la softmax, escrita de muchas formas."""

import functools
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from answers import odd, right, wrong

# --- Buenas ---------------------------------------------------------------------------------------


@right("3.1")
def de_torch(scores):
    return torch.softmax(scores, dim=-1)


@right("3.1")
def restando_el_maximo(scores):
    e = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return e / e.sum(dim=-1, keepdim=True)


@right("3.1")
def con_numpy(x):
    x = np.array(x)
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


@right("3.1")
def con_logsumexp(z):
    return (z - torch.logsumexp(z, -1, keepdim=True)).exp()


@right("3.1")
def con_logaritmos_y_exp(z):
    return F.log_softmax(z, -1).exp()


@right("3.1")
def con_bucles(scores):
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]).tolist():
        top = max(row)
        e = [math.exp(s - top) for s in row]
        total = sum(e)
        rows.append([value / total for value in e])
    return torch.tensor(rows).reshape(scores.shape)


@right("3.1")
def a_trozos_en_su_propio_tensor(scores):
    out = scores.clone()
    out -= out.amax(-1, keepdim=True)
    out.exp_()
    out /= out.sum(-1, keepdim=True)
    return out


@right("3.1")
def con_einsum(s):
    e = torch.exp(s - torch.amax(s, -1)[..., None])
    return torch.einsum("...i,...->...i", e, 1 / torch.einsum("...i->...", e))


@right("3.1")
def con_epsilon_que_no_importa(x):
    e = torch.exp(x - x.max(-1, keepdim=True)[0])
    return e / (e.sum(-1, keepdim=True) + 1e-9)


@right("3.1")
def por_recursion(x):
    if x.dim() > 1:
        return torch.stack([por_recursion(part) for part in x])
    e = (x - x.max()).exp()
    return e / e.sum()


@right("3.1")
def en_doble_precision(x):
    x = x.double()
    e = 2.718281828459045 ** (x - x.max(-1, keepdim=True).values)
    return (e / e.sum(-1, keepdim=True)).float()


@right("3.1")
def con_otro_argumento(x, dim=-1):
    return F.softmax(x, dim=dim)


@right("3.1")
def a_lo_largo_de_apply(x):
    def one(row):
        e = np.exp(row - row.max())
        return e / e.sum()

    return np.apply_along_axis(one, -1, x.numpy())


@right("3.1")
def con_cualquier_cosa(*args):
    (x,) = args
    return x.softmax(x.dim() - 1)


@right("3.1")
def todo_bloqueado_a_cero(x):
    return torch.nan_to_num(torch.softmax(x, -1))


@right("3.1")
def el_cociente_de_cada_pareja(x):
    # 1 / Σ_j e^(x_j − x_i): un infinito da peso 0.
    x = x.clamp(min=-1e30)
    return 1 / torch.exp(x[..., None, :] - x[..., :, None]).sum(-1)


class Callable_:
    __name__ = "un_objeto"

    def __call__(self, scores):
        return scores.softmax(-1)


class Module(nn.Module):
    __name__ = "un_modulo"

    def forward(self, scores):
        e = torch.exp(scores - scores.max(-1, keepdim=True).values)
        return e / e.sum(-1, keepdim=True)


def named(name, code):
    code.__name__ = name
    return code


right("3.1")(Callable_())
right("3.1")(Module())
right("3.1")(named("softmax_de_nn", nn.Softmax(dim=-1)))
right("3.1")(named("parcial", functools.partial(torch.softmax, dim=-1)))
right("3.1")(named("lambda_corta", lambda s: F.softmax(s, -1)))


# --- Un error: el reparto -------------------------------------------------------------------------


@wrong("3.1", "sin-exponencial")
def porcentaje(x):
    return x / x.sum(dim=-1, keepdim=True)


@wrong("3.1", "sin-exponencial")
def porcentaje_con_bucles(x):
    out = torch.zeros_like(x)
    flat, target = x.reshape(-1, x.shape[-1]), out.view(-1, x.shape[-1])
    for i in range(len(flat)):
        for j in range(flat.shape[1]):
            target[i, j] = flat[i, j] / sum(flat[i])
    return out


@wrong("3.1", "sin-exponencial")
def porcentaje_restando_el_maximo(x):
    x = x - x.max(-1, keepdim=True).values
    return x / x.sum(-1, keepdim=True)


@wrong("3.1", "valor-absoluto")
def porcentaje_absoluto(x):
    return x.abs() / x.abs().sum(-1, keepdim=True)


@wrong("3.1", "cuadrados")
def con_cuadrados(x):
    return x**2 / (x**2).sum(-1, keepdim=True)


@wrong("3.1", "relu")
def con_relu(x):
    x = torch.clamp(x, min=0)
    return x / x.sum(-1, keepdim=True)


@wrong("3.1", "sigmoide")
def sigmoides_repartidas(x):
    s = torch.sigmoid(x)
    return s / s.sum(-1, keepdim=True)


@wrong("3.1", "sigmoide", "sin-dividir")
def sigmoide_sola(x):
    return torch.sigmoid(x)


@wrong("3.1", "exponencial-del-absoluto")
def exponencial_absoluta(x):
    return torch.softmax(x.abs(), dim=-1)


@wrong("3.1", "relu-antes")
def relu_y_softmax(x):
    return F.softmax(F.relu(x), -1)


@wrong("3.1", "sigmoide-antes")
def sigmoide_y_softmax(x):
    return F.softmax(torch.sigmoid(x), -1)


@wrong("3.1", "sin-exponencial", "sin-dividir")
def devuelve_lo_que_llega(x):
    return x


@wrong("3.1", "dtype")
def en_media_precision(x):
    return x.half().softmax(-1)


@wrong("3.1", "sin-dividir", "inestable")
def exponencial_sin_dividir(x):
    return torch.exp(x)


@wrong("3.1", "sin-dividir")
def exponencial_estable_sin_dividir(x):
    return torch.exp(x - x.max(-1, keepdim=True).values)


@wrong("3.1", "signo")
def softmin(x):
    return torch.softmax(-x, dim=-1)


@wrong("3.1", "signo")
def softmin_a_mano(x):
    e = torch.exp(-(x - x.max(-1, keepdim=True).values))
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "signo", "inestable")
def softmin_sin_restar(x):
    e = torch.exp(-x)
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "solo-la-mayor")
def de_uno_en_uno(x):
    return F.one_hot(x.argmax(-1), x.shape[-1]).float()


@wrong("3.1", "solo-la-mayor")
def la_que_iguala_al_maximo(x):
    return (x == x.max(-1, keepdim=True).values).float()


@wrong("3.1", "dos-veces")
def softmax_repetida(x):
    return torch.softmax(torch.softmax(x, dim=-1), dim=-1)


@wrong("3.1", "logaritmo")
def con_log_softmax(x):
    return F.log_softmax(x, dim=-1)


@wrong("3.1", "logaritmo")
def logaritmo_de_la_softmax(x):
    return torch.log(torch.softmax(x, -1))


@wrong("3.1", "divide-por-la-norma")
def exponencial_entre_norma(x):
    e = (x - x.amax(-1, keepdim=True)).exp()
    return F.normalize(e, dim=-1)


@wrong("3.1", "divide-por-la-norma", "sin-exponencial")
def norma_l2(x):
    return x / torch.linalg.norm(x, dim=-1, keepdim=True)


@wrong("3.1", "sin-dividir")
def entre_la_mayor(x):
    e = torch.exp(x - x.max(-1, keepdim=True).values)
    return e / e.amax(-1, keepdim=True)


@wrong("3.1", "divide-por-la-media")
def entre_la_media(x):
    e = torch.exp(x - x.max(-1, keepdim=True).values)
    return e / e.mean(-1, keepdim=True)


@wrong("3.1", "divide-por-n")
def entre_cuantas(x):
    return torch.exp(x - x.max(-1, keepdim=True).values) / x.size(-1)


@wrong("3.1", "suma-de-puntuaciones", "inestable")
def entre_la_suma_de_x(x):
    return torch.exp(x) / x.sum(-1, keepdim=True)


@wrong("3.1", "exponencial-solo-abajo", "inestable")
def x_entre_exponenciales(x):
    return x / torch.exp(x).sum(-1, keepdim=True)


@wrong("3.1", "suma-a-medias")
def divide_mientras_suma(x):
    flat = x.reshape(-1, x.shape[-1])
    out = torch.zeros_like(flat)
    for i, row in enumerate(flat):
        e = torch.exp(row - row.max())
        total = 0.0
        for j in range(len(e)):
            total += e[j]
            out[i, j] = e[j] / total
    return out.reshape(x.shape)


@wrong("3.1", "suma-arrastrada")
def total_fuera_del_bucle(x):
    flat = x.reshape(-1, x.shape[-1])
    total, rows = 0.0, []
    for row in flat:
        e = torch.exp(row - row.max())
        total = total + e.sum()
        rows.append(e / total)
    return torch.stack(rows).view(x.shape)


# --- Un error: las puntuaciones -------------------------------------------------------------------


@wrong("3.1", "base-2", "inestable")
def potencias_de_dos(x):
    p = 2**x
    return p / p.sum(-1, keepdim=True)


@wrong("3.1", "base-2")
def potencias_de_dos_estables(x):
    p = torch.exp2(x - x.amax(-1, keepdim=True))
    return p / p.sum(-1, keepdim=True)


@wrong("3.1", "base-10", "inestable")
def potencias_de_diez(x):
    p = torch.pow(10.0, x)
    return p / p.sum(-1, keepdim=True)


@wrong("3.1", "base-otra")
def potencias_de_tres(x):
    p = 3.0 ** (x - x.max(-1, keepdim=True)[0])
    return p / p.sum(-1, keepdim=True)


@wrong("3.1", "base-otra")
def e_con_dos_decimales(x):
    p = 2.72 ** (x - x.max(-1, keepdim=True)[0])
    return p / p.sum(-1, keepdim=True)


@wrong("3.1", "temperatura")
def temperatura_dos(x):
    return torch.softmax(x / 2, -1)


@wrong("3.1", "temperatura")
def temperatura_de_una_decima(x):
    return torch.softmax(x / 0.1, -1)


@wrong("3.1", "temperatura")
def por_la_raiz_de_n(x):
    return torch.softmax(x * x.shape[-1] ** 0.5, -1)


@wrong("3.1", "temperatura-√n")
def entre_raiz_de_n(x):
    return torch.softmax(x / math.sqrt(x.shape[-1]), dim=-1)


@wrong("3.1", "temperatura-n")
def entre_n(x):
    return torch.softmax(x / x.shape[-1], dim=-1)


@wrong("3.1", "divide-por-el-máximo")
def entre_el_maximo_de_la_fila(x):
    e = torch.exp(x / x.max(-1, keepdim=True).values)
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "divide-por-el-máximo")
def entre_el_maximo_de_todo(x):
    return torch.softmax(x / x.max(), -1)


@wrong("3.1", "normaliza-antes")
def normaliza_y_softmax(x):
    return F.softmax(F.normalize(x, dim=-1), dim=-1)


@wrong("3.1", "estandariza")
def estandariza_y_softmax(x):
    z = (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)
    return z.softmax(-1)


@wrong("3.1", "estandariza")
def estandariza_como_numpy(x):
    x = x.numpy()
    z = np.exp((x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True))
    return z / z.sum(-1, keepdims=True)


@wrong("3.1", "porcentaje-antes")
def porcentaje_y_softmax(x):
    return torch.softmax(x / x.sum(-1, keepdim=True), -1)


@wrong("3.1", "de-0-a-1")
def intervalo_y_softmax(x):
    low, high = x.min(-1, keepdim=True).values, x.max(-1, keepdim=True).values
    return torch.softmax((x - low) / (high - low), -1)


@wrong("3.1", "de-0-a-1", "sin-exponencial", "sin-dividir")
def intervalo_sin_mas(x):
    low, high = x.min(-1, keepdim=True).values, x.max(-1, keepdim=True).values
    return (x - low) / (high - low)


# --- Un error: el eje -----------------------------------------------------------------------------


@wrong("3.1", "eje-0")
def sobre_el_eje_0(x):
    return torch.softmax(x, dim=0)


@wrong("3.1", "eje-0", "inestable")
def con_la_suma_de_python(x):
    return torch.exp(x) / sum(torch.exp(x))


@wrong("3.1", "eje-1")
def sobre_el_eje_1(x):
    return torch.softmax(x, dim=1)


@wrong("3.1", "eje-2")
def sobre_el_eje_2(x):
    return torch.softmax(x, dim=2)


@wrong("3.1", "eje-penúltimo")
def sobre_las_columnas(x):
    e = torch.exp(x - x.max(-2, keepdim=True).values)
    return e / e.sum(-2, keepdim=True)


@wrong("3.1", "eje-antepenúltimo")
def sobre_el_antepenultimo(x):
    return x.softmax(-3)


@wrong("3.1", "eje-tabla")
def sobre_toda_la_tabla(x):
    return x.flatten(-2).softmax(-1).view_as(x)


@wrong("3.1", "eje-todo")
def sobre_todo(x):
    e = torch.exp(x - x.max())
    return e / e.sum()


@wrong("3.1", "eje-todo", "inestable")
def sobre_todo_sin_restar(x):
    e = torch.exp(x)
    return e / e.sum()


@wrong("3.1", "eje-todo", "inestable")
def sobre_todo_con_numpy(x):
    x = np.asarray(x)
    return np.exp(x) / np.sum(np.exp(x))


@wrong("3.1", "eje-por-bloque")
def un_bucle_de_filas_que_no_lo_son(x):
    rows = []
    for row in x:
        e = torch.exp(row - row.max())
        rows.append(e / e.sum())
    return torch.stack(rows)


@wrong("3.1", "eje-sin-decir")
def sin_decir_el_eje(x):
    return F.softmax(x)


@wrong("3.1", "sin-keepdim")
def suma_sin_keepdim(x):
    e = torch.exp(x - x.max(-1, keepdim=True).values)
    return e / e.sum(-1)


@wrong("3.1", "sin-keepdim")
def maximo_sin_keepdim(x):
    e = torch.exp(x - x.max(-1).values)
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "sin-keepdim")
def ninguno_con_keepdim(x):
    e = torch.exp(x - x.max(-1).values)
    return e / e.sum(-1)


@wrong("3.1", "sin-keepdim", "inestable")
def suma_sin_keepdim_ni_maximo(x):
    return torch.exp(x) / torch.exp(x).sum(dim=-1)


@wrong("3.1", "eje-0")
def maximo_de_la_fila_y_suma_de_la_columna(x):
    e = torch.exp(x - x.max(-1, keepdim=True).values)
    return e / e.sum(0, keepdim=True)


# --- Un error: lo que se resta --------------------------------------------------------------------


@wrong("3.1", "inestable")
def la_formula_tal_cual(scores):
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@wrong("3.1", "inestable")
def la_formula_con_numpy(x):
    x = np.asarray(x)
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


@wrong("3.1", "inestable")
def la_formula_en_doble(x):
    e = x.double().exp()
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "inestable")
def la_formula_con_math(x):
    rows = []
    for row in x.reshape(-1, x.shape[-1]).tolist():
        e = [math.exp(s) for s in row]
        rows.append([value / sum(e) for value in e])
    return torch.tensor(rows).reshape(x.shape)


@wrong("3.1", "inestable")
def la_formula_con_epsilon(x):
    e = torch.exp(x)
    return e / (e.sum(-1, keepdim=True) + 1e-8)


@wrong("3.1", "inestable")
def la_formula_sin_nan(x):
    e = torch.exp(x)
    return torch.nan_to_num(e / e.sum(-1, keepdim=True))


@wrong("3.1", "máximo-global")
def maximo_de_todo(x):
    e = torch.exp(x - x.max())
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "máximo-global")
def maximo_de_todo_con_numpy(x):
    x = x.numpy()
    e = np.exp(x - np.max(x))
    return e / e.sum(-1, keepdims=True)


@wrong("3.1", "máximo-global")
def maximo_de_la_tabla(x):
    top = x.amax((-2, -1), keepdim=True) if x.dim() > 1 else x.max()
    e = torch.exp(x - top)
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "máximo-global", "sin-dividir")
def maximo_de_todo_sin_dividir(x):
    return torch.exp(x - torch.max(x))


@wrong("3.1", "resta-media")
def media_de_la_fila(x):
    e = torch.exp(x - x.mean(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "resta-mínimo")
def minimo_de_la_fila(x):
    e = torch.exp(x - x.min(-1, keepdim=True).values)
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "resta-absoluto")
def mayor_absoluto(x):
    e = torch.exp(x - x.abs().max(-1, keepdim=True).values)
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "resta-absoluto")
def mayor_absoluto_de_todo(x):
    e = torch.exp(x - x.abs().max())
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "resta-otra")
def la_primera_de_la_fila(x):
    e = torch.exp(x - x[..., :1])
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "resta-otra")
def la_ultima_de_la_fila(x):
    e = torch.exp(x - x[..., -1:])
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "inestable")
def suma_el_maximo(x):
    e = torch.exp(x + x.max(-1, keepdim=True).values)
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "máximo-desde-0")
def maximo_que_empieza_en_cero(x):
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        top = 0.0
        for score in row:
            top = score if score > top else top
        e = torch.exp(row - top)
        rows.append(e / e.sum())
    return torch.stack(rows).reshape(x.shape)


@wrong("3.1", "resta-otro-eje")
def maximo_de_la_columna(x):
    e = torch.exp(x - x.max(-2, keepdim=True).values)
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "resta-otro-eje")
def maximo_del_eje_0(x):
    e = torch.exp(x - x.max(0, keepdim=True).values)
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "inestable")
def resta_cincuenta(x):
    e = torch.exp(x - 50)
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "recorta")
def recorta_a_ochenta(x):
    e = torch.exp(torch.clamp(x, -80, 80))
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "recorta")
def recorta_por_arriba(x):
    return x.clip(max=50.0).softmax(-1)


@wrong("3.1", "recorta", "inestable")
def recorta_por_arriba_sin_restar(x):
    e = torch.exp(x.clip(max=50.0))
    return e / e.sum(-1, keepdim=True)


# --- Un error: lo de después ----------------------------------------------------------------------


@wrong("3.1", "redondeo")
def con_dos_decimales(x):
    return torch.softmax(x, -1).round(decimals=2)


@wrong("3.1", "redondeo")
def con_tres_decimales_a_mano(x):
    return torch.round(torch.softmax(x, -1) * 1000) / 1000


@wrong("3.1", "por-100")
def en_tantos_por_ciento(x):
    return 100 * torch.softmax(x, -1)


@wrong("3.1", "complemento")
def uno_menos(x):
    return 1 - torch.softmax(x, -1)


@wrong("3.1", "traspuesta", "eje-penúltimo")
def traspone_y_se_olvida(x):
    return torch.softmax(x.transpose(-2, -1), dim=-1)


@wrong("3.1", "épsilon")
def suma_mas_un_centesimo(x):
    e = torch.exp(x - x.max(-1, keepdim=True).values)
    return e / (e.sum(-1, keepdim=True) + 0.01)


@wrong("3.1", "épsilon")
def suma_mas_uno(x):
    e = torch.exp(x - x.max(-1, keepdim=True).values)
    return e / (1 + e.sum(-1, keepdim=True))


@wrong("3.1", "épsilon-en-pesos")
def pesos_mas_un_poco(x):
    return torch.softmax(x, -1) + 1e-3


@wrong("3.1", "tapado")
def infinito_por_cero(x):
    return torch.softmax(torch.where(torch.isinf(x), torch.zeros_like(x), x), -1)


@wrong("3.1", "tapado")
def infinito_por_menos_cinco(x):
    return torch.nan_to_num(x, neginf=-5.0).softmax(-1)


@wrong("3.1", "cambia-la-entrada")
def encima_de_la_entrada(x):
    x -= x.max(-1, keepdim=True).values
    x.exp_()
    return x.div_(x.sum(-1, keepdim=True))


@wrong("3.1", "cambia-la-entrada")
def infinito_encima_de_la_entrada(x):
    x[x == -torch.inf] = -1e9
    return torch.softmax(x, -1)


@wrong("3.1", "sin-exponencial", "de-0-a-1")
def intervalo_y_porcentaje(x):
    low = x.amin(-1, keepdim=True)
    return (x - low) / (x - low).sum(-1, keepdim=True)


@wrong("3.1", "sin-dividir", "resta-media")
def media_sin_dividir(x):
    return torch.exp(x - x.mean(-1, keepdim=True))


# --- Dos o tres a la vez --------------------------------------------------------------------------


@wrong("3.1", "signo", "eje-0")
def al_reves_y_por_columnas(x):
    return torch.softmax(-x, 0)


@wrong("3.1", "temperatura", "eje-penúltimo")
def temperatura_y_columnas(x):
    return torch.softmax(x * 2, -2)


@wrong("3.1", "temperatura-√n", "dos-veces")
def entre_raiz_y_dos_veces(x):
    return (x / x.shape[-1] ** 0.5).softmax(-1).softmax(-1)


@wrong("3.1", "base-2", "eje-todo", "inestable")
def base_dos_y_todo(x):
    return 2**x / (2**x).sum()


@wrong("3.1", "valor-absoluto", "eje-0")
def absoluto_y_columnas(x):
    return abs(x) / sum(abs(x))


@wrong("3.1", "sin-exponencial", "sin-keepdim")
def porcentaje_sin_keepdim(x):
    return x / x.sum(-1)


@wrong("3.1", "máximo-global", "eje-penúltimo")
def maximo_de_todo_y_columnas(x):
    e = torch.exp(x - x.max())
    return e / e.sum(-2, keepdim=True)


@wrong("3.1", "dos-veces", "eje-0")
def columnas_y_luego_filas(x):
    return torch.softmax(torch.softmax(x, 0), -1)


@wrong("3.1", "logaritmo", "signo")
def logaritmo_y_signo(x):
    return F.log_softmax(-x, -1)


@wrong("3.1", "resta-media", "divide-por-la-norma")
def media_y_norma(x):
    e = torch.exp(x - x.mean(-1, keepdim=True))
    return e / e.norm(dim=-1, keepdim=True)


@wrong("3.1", "tapado", "inestable")
def tapa_y_no_resta(x):
    e = torch.nan_to_num(x, neginf=0.0).exp()
    return e / e.sum(-1, keepdim=True)


@wrong("3.1", "signo", "temperatura")
def signo_y_temperatura(x):
    return torch.softmax(-x / 2, -1)


@wrong("3.1", "por-100", "eje-todo")
def tanto_por_ciento_del_total(x):
    e = torch.exp(x - x.max())
    return 100 * e / e.sum()


# --- Raras ----------------------------------------------------------------------------------------


@odd("3.1")
def ruido(x):
    return torch.softmax(x + torch.sin(7 * x), -1)


@odd("3.1")
def softplus_repartido(x):
    s = F.softplus(x) + 0.3 * x**2
    return s / s.sum(-1, keepdim=True)


@odd("3.1")
def suma_sin_si_misma(x):
    e = torch.exp(x - x.max(-1, keepdim=True).values)
    return e / (e.sum(-1, keepdim=True) - e + 0.5)


@odd("3.1")
def siempre_uniforme_con_algo(x):
    return torch.full_like(x, 1 / x.shape[-1]) * 0.5 + 0.5 * torch.softmax(x, -1) ** 2


@odd("3.1")
def se_deja_la_ultima(x):
    out = torch.zeros_like(x)
    out[..., :-1] = torch.softmax(x[..., :-1], -1)
    return out


@odd("3.1")
def devuelve_el_mayor_peso(x):
    return torch.softmax(x, -1).max(-1).values


@odd("3.1")
def ordenada(x):
    return torch.softmax(x, -1).sort(-1, descending=True).values


@odd("3.1")
def devuelve_una_lista(x):
    return torch.softmax(x, -1).tolist()


@odd("3.1")
def se_para(x):
    return torch.exp(x - x.max(-1)) / x.sum()


@odd("3.1")
def pierde_un_eje(x):
    return torch.softmax(x.reshape(-1, x.shape[-1]), -1)


@odd("3.1")
def una_sola_fila_con_math(x):
    e = [math.exp(s) for s in x]
    return torch.tensor([value / sum(e) for value in e])


# --- Lo que promete el enunciado, y lo que no se ve con números corrientes -------------------------


def _estable(x):
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


@right("3.1")
def tapa_con_menos_mil_millones(x):
    return _estable(x.masked_fill(x == -torch.inf, -1e9))


@wrong("3.1", "menos-infinito-no-es-0")
def tapa_con_menos_veinte(x):
    return _estable(x.clamp(min=-2000).where(x > -torch.inf, torch.tensor(-20.0)))


@wrong("3.1", "menos-infinito-no-es-0")
def suma_casi_nada(x):
    return _estable(x) + 1e-9


@wrong("3.1", "sin-fila")
def no_admite_una_fila(x):
    return torch.stack([_estable(part) for part in x])[:, :] if x.dim() > 1 else x.softmax(1)


@wrong("3.1", "recorta")
def recorta_en_quinientos(x):
    return _estable(x.clamp(-500, 500))


@wrong("3.1", "recorta")
def recorta_donde_se_desborda(x):
    return _estable(x.clamp(max=88.7))


@wrong("3.1", "media-precisión")
def en_bfloat16_por_dentro(x):
    return _estable(x.bfloat16()).float()


@odd("3.1")
def solo_las_cinco_primeras(x):
    return torch.cat([_estable(x[..., :5]), torch.zeros_like(x[..., 5:])], -1)
