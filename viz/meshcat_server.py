"""meshcat's server for this machine alone; a program that `MeshcatWindow` starts.

meshcat's own program listens for pages on all addresses of the machine. This one listens on the
loopback address, answers to its own name only, and ends with the program that started it. It
imports nothing of nmdp_pin, so that it is there soon.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import tornado.web
import umsgpack
from meshcat.servers import zmqserver

_HOST = "127.0.0.1"
_PLAIN = """<script>
const contextOf = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, options) {
  const probe = contextOf.call(document.createElement("canvas"), kind);
  const known = probe && probe.getExtension && probe.getExtension("WEBGL_debug_renderer_info");
  const name = known ? probe.getParameter(known.UNMASKED_RENDERER_WEBGL) : "";
  const slow = /swiftshader|llvmpipe|software|basic render/i.test(name);
  return contextOf.call(this, kind, slow ? {...options, antialias: false} : options);
};
</script>"""
_PATIENT = """<script>
const draw = viewer.render.bind(viewer);
viewer.render = () => { if (viewer.scene_tree.find(["meshcat"]).object.visible) draw(); };
</script>"""


class _Application(tornado.web.Application):
    def listen(self, port: int, address: str | None = _HOST, **options: Any) -> Any:
        return super().listen(port, address, **options)


class _Page(zmqserver.WebSocketHandler):
    def open(self, *words: str, **named: str) -> None:
        super().open(*words, **named)
        print("opened", flush=True)


class _Index(tornado.web.RequestHandler):
    """meshcat's page, which draws nothing while `send_scene` hides the scene.

    Without a graphics card it does not smooth edges, which takes half the time of a frame.
    """

    def get(self) -> None:
        page = Path(zmqserver.VIEWER_ROOT, zmqserver.VIEWER_HTML).read_text("utf-8")
        self.set_header("Cache-Control", "no-store")
        self.write(page.replace("<head>", "<head>" + _PLAIN, 1) + _PATIENT)


class _Bridge(zmqserver.ZMQWebSocketBridge):
    def make_app(self) -> tornado.web.Application:
        files = {"path": zmqserver.VIEWER_ROOT, "default_filename": zmqserver.VIEWER_HTML}
        rules: list[Any] = [
            (r"/static/", _Index),
            (r"/static/(.*)", zmqserver.StaticFileHandlerNoCache, files),
            (r"/", _Page, {"bridge": self}),
        ]
        application = _Application()
        # A page of another site, whose name leads here, gets nothing.
        application.add_handlers(r"(127\.0\.0\.1|localhost)", rules)
        return application

    def send_scene(self, websocket: Any) -> None:
        """Let a page draw when all is there: without a graphics card it takes long after each part.

        What stands beside the scene, such as camera and light, is there before.
        """
        for shown in (False, True):
            command = {"type": "set_property", "path": "/meshcat", "property": "visible"}
            if shown:
                super().send_scene(websocket)
            websocket.write_message(umsgpack.packb({**command, "value": shown}), binary=True)


def main(port: int | None) -> None:
    """Serve; the addresses of commands and of the page are printed."""
    try:
        bridge = _Bridge(host=_HOST, port=port)
    except OSError as error:
        sys.exit(print(error))
    print(bridge.zmq_url, bridge.web_url, sep="\n", flush=True)
    loop = bridge.ioloop
    loop.add_handler(sys.stdin.fileno(), lambda *_: loop.stop(), loop.READ)
    bridge.run()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else None)
