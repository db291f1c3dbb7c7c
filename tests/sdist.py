"""Other projects' test suites, from their source distributions on the package index that pip uses."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

from archives import alone, unpack

CACHE = Path(__file__).resolve().parents[1] / "build" / "sdist"
"""Where they are kept from run to run."""


def index_url() -> str:
    """The index that pip is configured to use."""
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True, check=False
    )
    return os.environ.get("PIP_INDEX_URL") or asked.stdout.strip() or "https://pypi.org/simple"


def source_of(name: str, version: str) -> Path:
    """The unpacked source distribution of a release."""
    folder = CACHE / f"{name}-{version}"
    with alone(folder):
        if not folder.exists():
            with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=CACHE) as half:
                archive = Path(half) / "archive.tar.gz"
                archive.write_bytes(_download(name, version))
                unpack(archive, Path(half))
                (Path(half) / folder.name).rename(folder)
    return folder


def _download(name: str, version: str) -> bytes:
    page_url = f"{index_url().rstrip('/')}/{name}/"
    with urllib.request.urlopen(page_url) as answer:
        page = answer.read().decode()
    for link in re.findall(r'href="([^"]+)"', page):
        url, _, fragment = urllib.parse.urljoin(page_url, link.replace("&amp;", "&")).partition("#")
        if url.rsplit("/", 1)[1].lower() != f"{name}-{version}.tar.gz":
            continue
        with urllib.request.urlopen(url) as answer:
            content: bytes = answer.read()
        wanted = urllib.parse.parse_qs(fragment).get("sha256")
        if wanted and hashlib.sha256(content).hexdigest() != wanted[0]:
            raise RuntimeError(f"{name} {version} from the package index does not have the hash that the index names")
        return content
    raise RuntimeError(f"the package index has no source distribution of {name} {version}")
