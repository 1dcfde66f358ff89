"""What the operator of this app allows on the Live page: kv_atlas.toml beside app.py.

    [live]
    run = true                                     # visitors may run small models here (needs torch)
    hub = true                                     # ... and have checkpoints fetched from the Hub
    servers = ["http://localhost:8000/metrics"]    # metrics endpoints that visitors may watch

Without the file models may be run and fetched where torch is installed, and no server is watched: a visitor must not
be able to send this host's requests anywhere.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

FILE = Path(__file__).parents[1] / "kv_atlas.toml"
DEFAULT_PATH = "/metrics"
MOST_SERVERS = 50


@dataclass(frozen=True)
class Allowed:
    """`servers` are complete URLs. `complaints` name what the file says wrongly; that part stays off."""

    run: bool = True
    hub: bool = True
    servers: tuple[str, ...] = ()
    complaints: tuple[str, ...] = ()


def read_allowed(path: Path | None = None) -> Allowed:
    """Never raises: what cannot be read is off, with a sentence."""
    path = path or FILE
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("live", {})
    except FileNotFoundError:
        return Allowed()
    except (OSError, ValueError) as error:
        return Allowed(run=False, hub=False, complaints=(f"{path.name} cannot be read: {error}.",))
    if not isinstance(table, dict):
        return Allowed(run=False, hub=False, complaints=(f"{path.name}: live must be a table.",))
    return _allowed(path.name, table)


def _allowed(name: str, table: dict[str, Any]) -> Allowed:
    complaints = [f"{name}: {key} is not a setting of [live]." for key in table if key not in ("run", "hub", "servers")]
    flags = {}
    for key in ("run", "hub"):
        flags[key] = table.get(key, True) is True
        if not isinstance(table.get(key, True), bool):
            complaints.append(f"{name}: {key} must be true or false; it is taken as false.")
    servers = []
    listed = table.get("servers", [])
    for url in listed[:MOST_SERVERS] if isinstance(listed, list) else [listed]:
        try:
            servers.append(endpoint(url))
        except ValueError as error:
            complaints.append(f"{name}: {error}")
    return Allowed(**flags, servers=tuple(servers), complaints=tuple(complaints))


def endpoint(url: Any) -> str:
    """The URL with its path. Raises ValueError with a sentence."""
    parts = urlsplit(url if isinstance(url, str) else "")
    try:
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 80)
    except ValueError:
        usable = False
    if not usable or parts.username or parts.password:
        raise ValueError(f'"{str(url)[:100]}" is not a server; write http://host:port/metrics.')
    return parts._replace(path=parts.path.rstrip("/") or DEFAULT_PATH, fragment="").geturl()
