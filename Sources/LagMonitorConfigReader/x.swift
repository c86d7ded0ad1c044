internal import LagMonitor
