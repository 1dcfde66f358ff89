"""The one scenario of a visit: read from the address, changed by the form, written back to the address.

The address wins when a link is opened or the reader goes back; the form wins when a control has just been moved,
since the browser may still send the address from before.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from components.format import UNITS, Unit
from components.link_config import pack, unpack
from components.pins import Pin, link_text, read_pins
from components.solve import OWN_CONFIG
from components.url_state import VIEW, read_query, values_to_query

HELD = "scenario"
MOVED = "control_moved"
WIDGET = "form_"


@dataclass
class Held:
    """Scenario values (perhaps contradicting each other), what else the page remembers, and the address it stands in.

    `config_text` is the pasted config.json; `accelerator_name` is None unless the accelerator is the user's own.
    `view` holds the parameters of url_state.VIEW that are set.
    """

    values: dict[str, Any]
    page: str
    address: dict[str, str]
    units: Unit = "GiB"
    accelerator_name: str | None = None
    config_text: str = ""
    pins: tuple[Pin, ...] = ()
    view: dict[str, str] = field(default_factory=dict)
    complaints: tuple[str, ...] = ()
    written: Any = field(default=None, repr=False)

    @property
    def own_config(self) -> str:
        """The pasted config.json where it is in use."""
        return self.config_text if self.values.get("model") == OWN_CONFIG else ""

    def settings(self) -> tuple[Any, ...]:
        """All that belongs in the address."""
        return dict(self.values), self.units, self.accelerator_name, self.own_config, self.pins, dict(self.view)


def open_state(page: str) -> Held:
    """The scenario of this visit, taken from the address where that has changed by other means than a control."""
    address = st.query_params.to_dict()
    held: Held | None = st.session_state.get(HELD)
    moved = st.session_state.pop(MOVED, False)
    arrived = held is not None and held.page != page and not address
    if held is None or not (moved or arrived or address == held.address):
        held = _kept_pins(held_from(address, page), held)
        forget_controls()
        st.session_state[HELD] = held
    elif address != held.address:
        held.written = None  # the bare address of a page that was arrived at gets what the visit holds
    if held.page != page:
        forget_controls()  # a control of one page does not hand its value to the next
        held.page = page
    return held


def held_from(address: Mapping[str, str], page: str) -> Held:
    link = read_query(address)
    complaints = list(link.complaints)
    units, text = link.extras.get("units", UNITS[0]), ""
    if units not in UNITS:
        complaints.append(f'In the link, units is "{units[:20]}"; it can be GiB or GB. GiB is used instead.')
    if "config" in link.extras:
        try:
            text = unpack(link.extras["config"])
        except ValueError as error:
            complaints.append(str(error))
    pins, unread = read_pins(link.extras.get("pins", ""))
    complaints.extend(unread)
    held = Held(
        values=link.values,
        page=page,
        address=dict(address),
        units="GB" if units == "GB" else "GiB",
        accelerator_name=link.extras.get("accelerator_name"),
        config_text=text,
        pins=pins,
        view={name: link.extras[name] for name in VIEW if name in link.extras},
        complaints=tuple(complaints),
    )
    held.written = held.settings()
    return held


def _kept_pins(held: Held, before: Held | None) -> Held:
    """Pins that are too long for an address stay through changes of the address."""
    if before is not None and not held.pins and link_text(before.pins) is None:
        held.pins = before.pins
    return held


def publish(held: Held) -> None:
    """Bring the address up to date. An address that already means this is left as it is."""
    if held.settings() == held.written:
        return
    held.address = address_of(held)
    held.written = held.settings()
    held.complaints = ()
    st.query_params.from_dict(held.address)


def address_of(held: Held) -> dict[str, str]:
    query = values_to_query(held.values)
    if held.units != UNITS[0]:
        query["units"] = held.units
    if held.accelerator_name is not None:
        query["accelerator_name"] = held.accelerator_name
    if held.own_config and (packed := pack(held.own_config)):
        query["config"] = packed
    if pins := link_text(held.pins):
        query["pins"] = pins
    return query | held.view


def moved() -> None:
    """Callback of every control of the form."""
    st.session_state[MOVED] = True


def apply(changes: Mapping[str, Any]) -> None:
    """Callback of buttons that change the scenario."""
    held: Held = st.session_state[HELD]
    held.values.update(changes)
    forget_controls()
    moved()


def use_units(key: str) -> None:
    """Callback of the unit menu."""
    chosen = st.session_state[key]
    if chosen in UNITS:
        st.session_state[HELD].units = chosen
    moved()


def forget_controls(of: str = "") -> None:
    """Let the form's controls, or those whose names begin so, take their values from the scenario again."""
    for key in [key for key in st.session_state if str(key).startswith(WIDGET + of)]:
        del st.session_state[key]
