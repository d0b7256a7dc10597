# Connections in every way in which a call may wait, fail or be interrupted: prints
# what the kernel answers.
import concurrent.futures, errno, os, signal, socket, threading, time
from multiprocessing import Manager

kept = []


def row(name, f):
    try:
        print(name, f(), flush=True)
    except Exception as e:
        print(name, type(e).__name__, getattr(e, "errno", None), flush=True)


def served(family, address):
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen(1)
    c = socket.socket(family)
    c.connect(listener.getsockname())
    a, _ = listener.accept()
    a.send(b"x")
    result = c.recv(1), listener.getsockname() == c.getpeername()
    try:
        c.connect(listener.getsockname())
    except OSError as e:
        result += (errno.errorcode[e.errno],)
    return result


def full(family, address, prepare, connections=4):
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen(0)
    kept.append(listener)
    said = []
    for _ in range(connections):
        c = socket.socket(family)
        kept.append(c)
        prepare(c)
        try:
            c.connect(listener.getsockname())
            said.append("done")
        except OSError as e:
            said.append(errno.errorcode.get(e.errno, str(e)))
    return said


def accepted(family, address, disturb):
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen(0)

    def accept():
        time.sleep(0.5)
        for _ in range(5):
            kept.append(listener.accept())

    if disturb:
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    threading.Thread(target=accept, daemon=True).start()
    for _ in range(5):
        c = socket.socket(family)
        kept.append(c)
        c.connect(listener.getsockname())
    signal.setitimer(signal.ITIMER_REAL, 0)
    return "all"


def interrupted(family, address):
    def handler(*_):
        raise InterruptedError(errno.EINTR, "")

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
    try:
        return full(family, address, lambda c: None)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def many(family, address):
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen(128)

    def accept():
        while True:
            listener.accept()[0].close()

    def connect(_):
        for _ in range(20):
            c = socket.socket(family)
            c.connect(listener.getsockname())
            c.close()
        return 1

    threading.Thread(target=accept, daemon=True).start()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return sum(pool.map(connect, range(8)))


def renewed():
    for i in range(300):
        served(socket.AF_UNIX, "one")
        os.unlink("one")
    return "300"


def managed():
    with Manager() as m:
        d = m.dict()
        d["a"] = 1
        return dict(d)


def pair():
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    a.send(b"12")
    a.send(b"3")
    return b.recv(10), b.recv(10)


def path(name):
    s = socket.socket(socket.AF_UNIX)
    s.connect(name)
    return "connected"


unix = socket.AF_UNIX
wait = lambda seconds: lambda c: c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, bytes(8) + int(seconds * 1e6).to_bytes(8, "little"))
row("relative", lambda: served(unix, "s"))
row("absolute", lambda: served(unix, os.getcwd() + "/s2"))
row("temporary", lambda: served(unix, os.environ["TMPDIR"] + "/s"))
row("without a file", lambda: served(unix, "\0toolserver-%d" % os.getpid()))
row("in use", lambda: served(unix, "s"))
row("no directory", lambda: served(unix, "none/s"))
row("missing", lambda: path("none"))
row("no socket", lambda: path(__file__))
row("directory", lambda: path("."))
row("nobody listens", lambda: (os.path.exists("s"), path("s")))
os.symlink("s2", "link")
row("link", lambda: path("link"))
row("long", lambda: path("x" * 108))
row("pair", pair)
row("manager", managed)
row("more than are known", renewed)
row("full unix", lambda: full(unix, "f1", lambda c: c.setblocking(False)))
row("full unix, bounded", lambda: full(unix, "f2", wait(0.1)))
row("full unix, interrupted", lambda: interrupted(unix, "f3"))
row("full unix, disturbed", lambda: accepted(unix, "f4", True))
row("many unix", lambda: many(unix, "m"))
if os.environ.get("INET"):
    inet, any = socket.AF_INET, ("127.0.0.1", 0)
    row("tcp", lambda: served(inet, any))
    row("tcp6", lambda: served(socket.AF_INET6, ("::1", 0)))
    row("refused", lambda: socket.create_connection(("127.0.0.1", 1)))
    row("full tcp", lambda: full(inet, any, lambda c: c.setblocking(False)))
    row("full tcp, bounded", lambda: full(inet, any, wait(0.1)))
    row("full tcp, interrupted", lambda: interrupted(inet, any))
    row("full tcp, disturbed", lambda: accepted(inet, any, True))
    row("many tcp", lambda: many(inet, any))
os._exit(0)
