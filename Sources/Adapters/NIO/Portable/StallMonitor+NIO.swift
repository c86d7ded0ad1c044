#if NIO
    public import LagMonitor
    public import NIOCore

    extension StallRules {
        /// For event loops: a heartbeat that is not answered within three intervals of 50 ms. The other rules require more than
        /// such a loop reports.
        public static var eventLoops: StallRules { .heartbeat }
    }

    extension StallMonitor {
        /// Watches every loop of a group until ``unwatch(_:)``, ``stop()`` or the group's shutdown, after which nothing is
        /// submitted to a loop.
        ///
        /// If possible, do not call it on one of the group's loops: see ``NIOLoops/init(_:named:)`` for how long it takes.
        /// - Parameters:
        ///   - group: any group, `MultiThreadedEventLoopGroup.singleton` included.
        ///   - name: each loop's name in records is this with its number: `http-0`.
        ///   - rules: must include ``StallRules/ping``.
        /// - Returns: the loops; watching the group again would watch other objects.
        /// - Throws: the errors of ``watch(_:named:rules:)`` for a loop; then none of them is watched.
        @discardableResult
        public func watch(
            _ group: any EventLoopGroup,
            named name: String = "nio",
            rules: StallRules = .eventLoops
        ) throws(StallMonitorError) -> NIOLoops {
            // Before anything is submitted to a loop.
            guard isRunning else { throw .notRunning }
            let loops = NIOLoops(group, named: name)
            do throws(StallMonitorError) {
                for loop in loops { try watch(loop, rules: rules) }
            } catch {
                unwatch(loops)
                throw error
            }
            return loops
        }

        /// Ends the watch of a group's loops.
        public func unwatch(_ loops: NIOLoops) {
            for loop in loops { unwatch(loop) }
        }
    }
#endif
