#if NIO
    public import LagMonitor
    public import NIOCore

    extension StallRules {
        /// For event loops: a heartbeat that is not answered within three intervals of 50 ms. The other rules ask for more than such a
        /// loop reports.
        public static var eventLoops: StallRules { .heartbeat }
    }

    extension StallMonitor {
        /// Watches every loop of a group, until ``unwatch(_:)``, ``stop()`` or the group's shutdown, after which nothing is given to a loop.
        ///
        /// Not on a loop whose group is given, where one can help it: see ``NIOLoops/init(_:named:)`` for how long it takes.
        /// - Parameters:
        ///   - group: any group, `MultiThreadedEventLoopGroup.singleton` included.
        ///   - name: each loop's name in records is that with its number: `http-0`.
        ///   - rules: ``StallRules/ping`` is needed.
        /// - Returns: the loops; watching the group once more would watch other ones.
        /// - Throws: what ``watch(_:named:rules:)`` of a loop throws; then none of them is watched.
        @discardableResult
        public func watch(
            _ group: any EventLoopGroup,
            named name: String = "nio",
            rules: StallRules = .eventLoops
        ) throws(StallMonitorError) -> NIOLoops {
            // Before anything is given to a loop.
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
