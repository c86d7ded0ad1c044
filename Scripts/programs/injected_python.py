"""Servers in Python whose handlers are blocked by a preloaded library: FTP, Modbus, MQTT, ZeroMQ, remote objects."""
import pathlib

from harness import free_port
from injected import Injected
from program import PYTHON


class PythonDaemon(Injected):
    needs = (PYTHON,)
    output_is_same = False

    def environment(self):
        return {**super().environment(), "HOME": str(self.home), "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}


class Pyftpdlib(PythonDaemon):
    name = "pyftpdlib"
    packages = ("pyftpdlib",)
    greeting = b"USER anonymous\r\n"

    def command(self):
        return [PYTHON, "-m", "pyftpdlib", "-i", "127.0.0.1", "-p", str(self.port), "-d", self.home]


class Pymodbus(PythonDaemon):
    name = "pymodbus"
    packages = ("pymodbus",)
    greeting = b"\0\1\0\0\0\6\1\3\0\0\0\1"

    def command(self):
        return [PYTHON, self.write("server.py", f"""
import asyncio
from pymodbus.datastore import ModbusDeviceContext, ModbusSequentialDataBlock, ModbusServerContext
from pymodbus.server import StartAsyncTcpServer

context = ModbusServerContext(devices=ModbusDeviceContext(hr=ModbusSequentialDataBlock(1, [1] * 100)), single=True)
asyncio.run(StartAsyncTcpServer(context=context, address=("127.0.0.1", {self.port})))
""")]


class Amqtt(PythonDaemon):
    name = "amqtt"
    packages = ("amqtt",)
    greeting = b"\x10\x0d\0\4MQTT\4\2\0\x3c\0\1a"

    def command(self):
        return [PYTHON, self.write("broker.py", f"""
import asyncio
from amqtt.broker import Broker

async def main():
    plugins = {{"amqtt.plugins.authentication.AnonymousAuthPlugin": {{"allow_anonymous": True}}}}
    await Broker({{"listeners": {{"default": {{"type": "tcp", "bind": "127.0.0.1:{self.port}"}}}}, "plugins": plugins}}).start()
    await asyncio.Event().wait()

asyncio.run(main())
""")]


class Circus(PythonDaemon):
    name = "circus"
    packages = ("circus",)
    # The greeting of ZeroMQ's protocol.
    greeting = b"\xff\0\0\0\0\0\0\0\1\x7f\3"
    any_thread = True

    def command(self):
        conf = self.write("circus.ini", f"[circus]\ncheck_delay = 5\nendpoint = tcp://127.0.0.1:{self.port}\npubsub_endpoint = tcp://127.0.0.1:{free_port()}\n[watcher:a]\ncmd = sleep 1000\n")
        return [pathlib.Path(PYTHON).with_name("circusd"), conf]


class Pyro(PythonDaemon):
    name = "pyro5"
    packages = ("Pyro5",)
    greeting = b"PYRO" + b"\0" * 40

    def environment(self):
        return {**super().environment(), "PYRO_SERVERTYPE": "multiplex"}

    def command(self):
        return [PYTHON, "-m", "Pyro5.nameserver", "-n", "127.0.0.1", "-p", str(self.port), "-x"]


PROGRAMS = (Pyftpdlib, Pymodbus, Amqtt, Circus, Pyro)
