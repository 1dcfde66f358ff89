"""Fetch a metrics page that the operator allows: bounded time and size, no redirects, no proxy."""

import time
from collections.abc import Collection
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from live.server_metrics import LONGEST_METRICS, MetricsError

SECONDS = 3.0
PIECE = 65_536


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


def fetch_metrics(url: str, allowed: Collection[str]) -> str:
    """The text of the page. Raises MetricsError with a sentence, whatever the server does."""
    if url not in allowed:
        raise MetricsError("This server is not among those that the operator allows.")
    where = urlsplit(url).netloc
    opener = build_opener(ProxyHandler({}), _NoRedirects())
    try:
        with opener.open(Request(url, headers={"Accept": "text/plain"}), timeout=SECONDS) as response:
            return _read(response, where)
    except HTTPError as error:
        raise MetricsError(f"{where} answered {error.code}; a metrics page answers 200.{_hint(error.code)}") from None
    except TimeoutError:
        raise MetricsError(f"{where} did not answer within {SECONDS:.0f} s.") from None
    except (URLError, HTTPException, OSError) as error:
        raise MetricsError(f"{where} cannot be reached: {getattr(error, 'reason', None) or error}.") from None


def _hint(code: int) -> str:
    if 300 <= code < 400:
        return " Redirects are not followed."
    return " llama.cpp needs --metrics, SGLang --enable-metrics." if code in (404, 501) else ""


def _read(response: Any, where: str) -> str:
    """Piece by piece, so that neither a long page nor a slow one can hold on to us."""
    end, pieces, size = time.monotonic() + SECONDS, [], 0
    while piece := response.read1(PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > LONGEST_METRICS:
            raise MetricsError(
                f"{where} sends more than {LONGEST_METRICS // 10**6} MB; no engine's metrics are as long."
            )
        if time.monotonic() > end:
            raise TimeoutError
    return b"".join(pieces).decode("utf-8", errors="replace")
