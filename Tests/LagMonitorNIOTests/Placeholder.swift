#if NIO
import LagMonitorNIO
#endif
