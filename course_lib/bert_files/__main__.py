"""Descarga el modelo del curso: la orden que da curso.py si el paquete no se puede instalar."""

import os
import sys

from course_lib.bert_files.embedded import download_embedded

os.environ |= {"HF_HUB_VERBOSITY": "critical", "HF_HUB_DOWNLOAD_TIMEOUT": "5"}
for unwanted in ("TELEMETRY", "PROGRESS_BARS", "XET"):
    os.environ[f"HF_HUB_DISABLE_{unwanted}"] = "1"
sys.exit(download_embedded())
