"""A server over standard streams whose first argument selects its behavior. It writes lines without a library, so that
it can violate the protocol on purpose. The tool "seen" returns the methods of the requests so far."""
import json
import os
import sys

MODE = sys.argv[1]
MODERN = "2026-07-28"
out = sys.stdout.buffer
seen = []


def send(message):
    out.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    out.flush()


def result(request, value):
    send({"id": request["id"], "result": value})


def error(request, code, data=None):
    send({"id": request["id"], "error": {"code": code, "message": "no", **({"data": data} if data is not None else {})}})


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}


def discover(request, versions=(MODERN,)):
    result(request, {
        "resultType": "complete", "supportedVersions": list(versions), "capabilities": {"tools": {"listChanged": True}},
        "instructions": "modern", "ttlMs": 0, "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "liar", "version": "1"}},
    })


def initialize(request, version=None):
    result(request, {
        "protocolVersion": version or request["params"]["protocolVersion"], "capabilities": {"tools": {}},
        "serverInfo": {"name": "liar", "version": "1"},
    })


held = []


def start(request):
    """Answers the first requests, depending on the mode. Returns False for all other requests."""
    method = request["method"]
    if method == "server/discover":
        if MODE.startswith("error:"):
            error(request, int(MODE[6:]))
        elif MODE == "garbage":
            result(request, {"hello": 1})
        elif MODE in ("silent", "slow"):
            held.append(request)
        elif MODE == "dies":
            sys.exit(3)
        elif MODE == "dies-twice":
            print("cannot find the database", file=sys.stderr)
            sys.exit(3)
        elif MODE == "unsupported":
            error(request, -32022, {"supported": ["2031-01-01"], "requested": MODERN})
        elif MODE == "other-versions":
            discover(request, ["2031-01-01"])
        elif MODE == "asks-for-capability":
            error(request, -32021)
        else:
            discover(request)
        return True
    if method == "initialize":
        if MODE == "modern":
            # Only received if this server started so slowly that its client assumed an old one.
            error(request, -32601)
            return True
        if MODE == "dies-twice":
            print("cannot find the database", file=sys.stderr)
            sys.exit(3)
        if MODE == "slow":
            # The late answer is sent before the answer to the handshake.
            discover(held.pop())
        elif MODE == "silent":
            initialize(request)
            # Only now the server answers that it does not support discover.
            error(held.pop(), -32601)
        elif MODE == "error:-32601" and len(sys.argv) > 2:
            initialize(request, sys.argv[2])
        else:
            initialize(request)
        return True
    return False


def call(request):
    params = request["params"]
    name, args = params["name"], params.get("arguments", {})
    if name == "echo":
        result(request, text(args["text"]))
    elif name == "steps":
        token = params["_meta"]["progressToken"]
        send({"method": "notifications/progress", "params": {"progressToken": token, "progress": args["number"]}})
        result(request, text(str(args["number"])))
    elif name == "seen":
        result(request, text(" ".join(seen)))
    elif name == "meta":
        result(request, text(json.dumps(params.get("_meta"), sort_keys=True)))
    elif name == "never":
        pass
    elif name == "twice":
        result(request, text("first"))
        result(request, text("second"))
        send({"id": 4711, "result": {}})
        send({"id": "1", "result": {}})
        send({"id": None, "error": {"code": -32700, "message": "what?"}})
    elif name == "talk":
        out.write(b"Listening on stdio\n\xff\xfe\xfd\n{}\n[]\n\xef\xbb\xbf")
        out.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": text("after all")}).encode() + b"\r\n")
        out.flush()
    elif name == "chatter":
        for _ in range(100):
            out.write(b"no json\n")
        out.flush()
    elif name == "bytes":
        out.write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"\xff\xfe"}]}}\n' % request["id"])
        result(request, text("clean"))
    elif name == "deep":
        depth = args["depth"]
        out.write(b'{"jsonrpc":"2.0","id":%d,"result":%s%s}\n' % (request["id"], b"[" * depth, b"]" * depth))
        result(request, text("shallow"))
    elif name == "large":
        piece = b"x" * (1 << 20)
        out.write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % request["id"])
        for _ in range(args["megabytes"]):
            out.write(piece)
        out.write(b'"}]}}\n')
        out.flush()
    elif name == "endless":
        # A line that belongs to no request, followed by the answer.
        piece = b"x" * (1 << 20)
        for _ in range(args["megabytes"]):
            out.write(piece)
        out.write(b"\n")
        result(request, text("behind"))
    elif name == "flood":
        line = json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}).encode() + b"\n"
        for _ in range(args["count"] // 1000):
            out.write(line * 1000)
        out.flush()
        # Continues until the test has seen that other servers answer in the meantime.
        while "until" in args and not os.path.exists(args["until"]):
            out.write(line * 1000)
            out.flush()
        result(request, text("done"))
    elif name == "die":
        sys.exit(1)
    elif name == "deaf":
        # Stops reading, and keeps sending requests.
        line = b'{"jsonrpc":"2.0","id":"p","method":"ping"}\n'
        for _ in range(args["pings"]):
            out.write(line)
        out.flush()
        os.read(os.open(args["until"], os.O_RDONLY), 1)
        sys.exit(0)
    elif name == "ping":
        send({"id": "p-1", "method": "ping"})
        answer = json.loads(sys.stdin.buffer.readline())
        send({"id": "p-2", "method": "sampling/createMessage", "params": {}})
        refused = json.loads(sys.stdin.buffer.readline())
        result(request, text(json.dumps([answer, refused])))
    elif name == "odd-type":
        result(request, {"resultType": "hologram"})
    elif name == "no-type":
        result(request, {"content": [{"type": "text", "text": "complete"}, {"type": "smell", "x": 1}, 7]})
    elif name == "ask":
        rounds = int(args["rounds"])
        state = params.get("requestState")
        if "inputResponses" in params and state != args["state"]:
            error(request, -32602)
        elif rounds > ask.count:
            ask.count += 1
            question = {"method": "elicitation/create", "params": args["question"]}
            result(request, {"resultType": "input_required", "inputRequests": {"q": question}, "requestState": args["state"]})
        else:
            result(request, {"resultType": "complete", **text(json.dumps(params.get("inputResponses"), sort_keys=True))})
    else:
        error(request, -32602)


class ask:
    count = 0


def listed(request):
    result(request, {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": [
        {"name": "echo", "inputSchema": {"type": "object"}}, {"name": "odd", "inputSchema": True}, {"name": 7}, None,
    ]})


for line in sys.stdin.buffer:
    message = json.loads(line)
    seen.append(message.get("method", "answer"))
    if "id" not in message or "method" not in message:
        continue
    if start(message):
        continue
    if message["method"] == "tools/call":
        call(message)
    elif message["method"] == "tools/list":
        listed(message)
    elif message["method"] == "subscriptions/listen":
        send({"method": "notifications/subscriptions/acknowledged", "params": {"notifications": {"toolsListChanged": True}}})
        send({"method": "notifications/tools/list_changed", "params": {}})
    else:
        error(message, -32601)
