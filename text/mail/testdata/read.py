"""Reads the .eml files of a directory with Python's email package and prints what they say as JSON, by file name."""

import hashlib
import json
import pathlib
import sys
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.utils import getaddresses


def addresses(message, old, name):
    """Returns addresses as the new parser sees them, and names as the old one does: the new one of Python 3.11 leaves spaces between
    adjacent encoded-words of a name."""
    header = message[name]
    if header is None:
        return []
    names = [str(make_header(decode_header(n))) for n, _ in getaddresses([str(old[name])])]
    specs = [a.addr_spec for a in header.addresses]
    assert len(names) == len(specs), (names, specs)
    return [{"name": n, "address": a} for n, a in zip(names, specs)]


def lines(text):
    return text.replace("\r\n", "\n")


def read(data):
    message = message_from_bytes(data, policy=policy.default)
    old = message_from_bytes(data, policy=policy.compat32)
    out = {
        "headers": [name.lower() for name in message.keys()],
        "subject": str(message["subject"] or ""),
        "in_reply_to": str(message["in-reply-to"] or ""),
        "references": str(message["references"] or "").split(),
        "text": "",
        "html": "",
        "files": [],
        "defects": [type(d).__name__ for part in message.walk() for d in part.defects],
    }
    for name in ("from", "to", "cc", "bcc"):
        out[name] = addresses(message, old, name)
    for part in message.walk():
        if part.is_multipart():
            continue
        content = part.get_payload(decode=True)
        if part.get_content_disposition() == "attachment":
            file = {"name": part["content-disposition"].params["filename"], "type": part.get_content_type(), "sum": hashlib.sha256(content).hexdigest()}
            out["files"].append(file)
        else:
            out["html" if part.get_content_type() == "text/html" else "text"] = lines(content.decode("utf-8"))
    return out


print(json.dumps({f.name: read(f.read_bytes()) for f in sorted(pathlib.Path(sys.argv[1]).glob("*.eml"))}))
