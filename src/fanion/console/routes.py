"""The routes of the console and of posthog-js."""

from fanion.console.endpoints import ASSETS, SDK, ConsoleEndpoints, SdkScripts
from fanion.web.routes import Route, Routes

# Addresses of screens, each with everything below it. Only the console knows which of them exist.
SCREENS = ("/login", "/reset", "/project", "/account", "/organization")
_READ = ("GET",)


def console_routes(console: ConsoleEndpoints) -> Routes:
    page = Route("console", console.page, _READ, cors=False, is_management=True)
    root = Route("console", console.root, _READ, cors=False, is_management=True)
    asset = Route("console_asset", console.asset, _READ, cors=False, is_management=True)
    return Routes(
        {"/": root, **dict.fromkeys(SCREENS, page)},
        [(ASSETS, "", asset), *((f"{screen}/", "", page) for screen in SCREENS)],
    )


def sdk_routes(scripts: SdkScripts) -> Routes:
    return Routes(
        {},
        [
            (SDK, "", Route("sdk_script", scripts.static, _READ)),
            ("/array/", "/array.js", Route("sdk_script", scripts.array, _READ)),
        ],
    )
