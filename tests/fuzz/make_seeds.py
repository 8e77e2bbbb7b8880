"""Writes the seeds of stream and tfevents that a person thought of, as FOLDER/stream/NAME and FOLDER/tfevents/NAME.
In the packed corpus what the fuzzer found is beside them under its hash.

Usage: python3 tests/fuzz/make_seeds.py FOLDER [STREAM]     (STREAM: a rank-0000.jsonl whose first lines become a seed)
"""
import json
import struct
import sys
from pathlib import Path

HERE = Path(__file__).parent
STEP = '{"kind":"step","step":%d,"t_us":%d,"epoch":0,"samples":4,"load_us":778,"forward_us":9653,"step_us":22510,"loss":%s}'
RUN = '{"kind":"run","schema":1,"lesson":"01_baseline","preset":"cpu_micro","host":"node01","pid":57,"wanted_steps":60}'
NOTE = '{"kind":"note","text":"plan","steps_per_epoch":2}'
EVAL = '{"kind":"eval","step":%d,"t_us":339087,"loss":1.02,"rmse_u10m":1.02,"persistence_rmse_u10m":0.34,"acc_u10m":-0.1}'
END = '{"kind":"end","status":"done","reason":""}'


def head(mode=0, first=0, second=0):
    return struct.pack(">BHH", mode, first, second)


def stream_seeds(path):
    steps = [STEP % (i, 1000 * i, 1 / (1 + i)) for i in range(5)]
    usual = "\n".join([RUN, NOTE, EVAL % 0, *steps, EVAL % 5, END]) + "\n"
    resumed = "\n".join([RUN, NOTE, *steps, EVAL % 5, RUN, *steps[2:], EVAL % 5]) + "\n"
    seeds = {
        "usual": head(4, 300, 700) + usual.encode(),
        "partial": head(2, 300, 700) + usual.encode(),
        "small-limits": head(1, 20, 400) + b"one\n\ntwo\n" + b"x" * 50 + b"\nthree\n" + b"y" * 400 + b"\nfour\nfive\nsix\n",
        "small-limits-zeros": head(1, 20, 90) + b"one\n" + bytes(9) + b"\nlost\n" + b"z" * 200 + b"\nlast\n",
        "torn-tail": head(0, 200, 201) + usual.encode()[:-40],
        "zeros": head(0, 130, 140) + (RUN + "\n").encode() + bytes(40) + b"\n" + steps[0].encode() + b"\n",
        "resumed": head(4, 400, 900) + resumed.encode(),
        "second-attempt-earlier": head() + "\n".join([*steps, RUN, steps[0], EVAL % 0, steps[1]]).encode() + b"\n",
        "steps-back": head() + "\n".join([steps[3], steps[1], steps[4], STEP % (-1, 0, 1)]).encode() + b"\n",
        "time-back": head() + "\n".join([STEP % (0, 900, 1), STEP % (1, 5, 1), STEP % (2, -7, 1)]).encode() + b"\n",
        "not-numbers": head() + "\n".join(STEP % (i, 0, v) for i, v in enumerate(['"nan"', '"inf"', '"-inf"', "null", "true"])).encode() + b"\n",
        "schema-2": head(0, 60, 60) + b'{"kind":"run","schema":2}\n' + steps[0].encode() + b"\n",
        "nested": head() + b'{"kind":"step","step":0,"a":{"b":[1,{"c":2}]},"loss":1}\n[1]\n3\n{}\n"x"\n',
        "deep": head() + b"[" * 1100 + b"\n" + b'{"a":' * 300 + b"1" + b"}" * 300 + b"\n",
        "huge": head() + b'{"kind":"step","step":1e308,"samples":1e308,"t_us":1e308,"loss":-1e308}\n'
                b'{"kind":"step","step":1.7e308,"samples":1e308,"t_us":1e400}\n{"kind":"eval","step":1e308,"loss":1e308}\n'
                b'{"kind":"step","step":18446744073709551615,"samples":18446744073709551615}\n',
        "twice": head() + b'{"kind":"step","step":0,"loss":1,"loss":2,"step":5,"kind":"eval"}\n',
        "own-speed": head(4) + b'{"kind":"step","step":0,"samples":4,"step_us":5,"samples_per_s":9}\n' * 2,
        "many-samples": head() + b'{"kind":"step","step":0,"samples":8.9e15}\n' * 12,
        "blank": head(0, 2, 5) + b"\n\n \n\t\n\r\n\n" + steps[0].encode() + b"\r\n",
        "no-utf8": head() + b'{"kind":"step","step":0,"\xff\xc0":1}\n{"kind":"note","text":"\xc3\xa4\xe2\x82"}\n\xef\xbb\xbf{}\n',
        "escapes": head() + b'{"kind":"step","step":0,"\\u001b[2J\\n\\u0000%n##":1}\n'
                   b'{"kind":"run","schema":1,"lesson":"\\u001b[31m","fault":"\\u0007","provenance":"recorded"}\n',
        "long-name": head() + b'{"kind":"eval","step":0,"rmse_' + b"n" * 300 + b'":1,"rmse_\xe2\x82\xac":2}\n',
        "many-names": head() + ('{"kind":"step","step":0,' + ",".join(f'"k{i}":{i}' for i in range(600)) + "}\n").encode(),
        "many-rows": head(4, 900, 2000) + "".join('{"kind":"step","step":%d,"l":%d}\n' % (i, i % 7) for i in range(200)).encode(),
        "sparse": head() + "".join('{"kind":"step","step":%d%s}\n' % (i, ',"l":1' if i % 3 else "") for i in range(9)).encode(),
        "summary": head() + b'{"kind":"summary","steps":60,"samples":240,"wall_us":1807047,"loss":0.58,"samples_per_s":212.4,'
                   b'"step_us":18824,"load_us":828,"forward_us":6301,"mfu":0.2,"peak_flops_per_s":3e11,"rmse_u10m":0.5}\n',
        "own-pid": head() + b'{"kind":"run","schema":1,"pid":-9e15,"host":""}\n{"kind":"end","status":"failed","reason":"disk"}\n',
    }
    if path:
        lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
        kept = lines[:5] + lines[-2:]
        kept = [{k: v for k, v in line.items() if "host_us" not in k} for line in kept]
        kept = [dict(list(line.items())[:14]) for line in kept]
        kept[0]["host"] = "node01"
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in kept)
        seeds["recorded"] = head(0, 500, 1000) + text.encode()
    return seeds


def crc(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    value ^= 0xFFFFFFFF
    return struct.pack("<I", (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def framed(data, length=None):
    size = struct.pack("<Q", len(data) if length is None else length)
    return size + crc(size) + data + crc(data)


def records(log):
    while log:
        size = struct.unpack_from("<Q", log)[0]
        yield log[12:12 + size]
        log = log[16 + size:]


def field(number, kind, data):
    if kind == 2:
        data = bytes([len(data)]) + data
    return bytes([number << 3 | kind]) + data


def event(value, step=b"\x05", wall=1.7e9):
    return field(1, 1, struct.pack("<d", wall)) + field(2, 0, step) + field(5, 2, field(1, 2, value))


def tfevents_seeds():
    log = (HERE.parent / "reference" / "events.reference").read_bytes()
    data = list(records(log))
    scalar = field(1, 2, b"Loss/train") + field(2, 5, struct.pack("<f", 0.5))
    tensor = [
        field(1, 0, b"\x01") + field(5, 2, struct.pack("<f", 1)),
        field(1, 0, b"\x02") + field(4, 2, struct.pack("<d", 2)),
        field(1, 0, b"\x01") + field(4, 2, struct.pack("<f", 3)),
        field(1, 0, b"\x01") + field(5, 2, b"\x00\x00\x00"),
        field(1, 0, b"\x07") + field(8, 2, b"text"),
        field(1, 0, b"\x01") + field(5, 2, struct.pack("<fff", 1, 2, 3)),
    ]
    picture = field(1, 0, b"\x01") + field(2, 0, b"\x01") + field(4, 2, b"PNG")
    events = {
        "scalar": event(scalar),
        "nan-wall-time": event(scalar, wall=float("nan")),
        "step-back": event(scalar, step=b"\xff" * 9 + b"\x01"),
        "foreign": field(3, 2, b"brain.Event:2") + field(6, 2, b"log") + field(15, 5, bytes(4)) + field(14, 0, b"\x81\x01"),
        "half-good": event(scalar)[:-2] + bytes([scalar[-2], scalar[-1]]) + b"\x2a\x7f",
        "two-values-one-bad": field(5, 2, field(1, 2, scalar) + b"\x0a\x7f"),
        "group": b"\x0b\x0c" + event(scalar),
        "image": event(field(1, 2, b"Map") + field(4, 2, picture)),
        "wrong-types": field(1, 0, b"\x01") + field(2, 2, b"x") + field(5, 5, bytes(4)),
        "lie-of-length": b"\x2a\x7f\x0a\x7f\x0a\x05",
        **{f"tensor-{i}": event(field(1, 2, b"t") + field(8, 2, t)) for i, t in enumerate(tensor)},
    }
    wrapped = {name: b"\0" + struct.pack("<H", len(e)) + e for name, e in events.items()}
    one = wrapped["scalar"]
    flagged = {n: one + bytes([f]) + one[1:] + one for n, f in
               [("length-checksum", 0xF0), ("data-checksum", 0xF1), ("length-2-63", 0xF2), ("length-60-mib", 0xF3)]}
    composed = b"".join(struct.pack("<BBhf", flags, tag, step, value) for flags, tag, step, value in
                        [(0, 0, 0, 1.0), (0, 0, 5, 0.5), (0, 1, 5, 0.7), (4, 0, 3, float("nan")), (8, 2, 5, 1e38),
                         (1, 3, -5, 0), (2, 0, 7, 1), (0, 0, 1, 2), (0, 4, 0, 1), (0, 200, 9, float("inf"))])
    series = b"".join(struct.pack("<BBhf", 0, 0, i, i % 7) for i in range(200))
    return {
        "reference": head(0, 200, 400) + log,
        "reference-truncated": head(0, 100, 101) + log[:333],
        "reference-bad-length": head() + log[:99] + b"\x7f" + log[100:],
        "reference-bad-data": head() + log[:120] + b"\x7f" + log[121:300],
        "length-2-63-raw": head() + framed(b"", 1 << 63) + log[:88],
        "length-all-ones": head() + framed(b"", (1 << 64) - 1),
        "length-64-mib": head() + framed(b"ab", 64 << 20),
        "empty-record": head(0, 3, 14) + framed(b"") + framed(b""),
        "zeros": head() + log[:88] + bytes(64),
        "reference-wrapped": head(1, 50, 150) + b"".join(b"\0" + struct.pack("<H", len(d)) + d for d in data),
        **{f"wrapped-{name}": head(1, 30, 60) + w for name, w in (wrapped | flagged).items()},
        "wrapped-all": head(1, 100, 300) + b"".join(wrapped.values()),
        "composed": head(2, 100, 300) + composed,
        "composed-many": head(2, 3000, 7000) + series,
    }


def main():
    for folder, seeds in (("stream", stream_seeds(*sys.argv[2:3] or [None])), ("tfevents", tfevents_seeds())):
        place = Path(sys.argv[1]) / folder
        place.mkdir(parents=True, exist_ok=True)
        for name, data in seeds.items():
            (place / name).write_bytes(data)


if __name__ == "__main__":
    main()
