internal import Glibc
internal import LagMonitor
internal import Synchronization

/// Starts `sleep` and waits for its end.
///
/// The child starts with no signal blocked and none ignored, whatever lagmond does with its own.
@inline(never)
func waitForChildProcess(_ length: Duration) {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    var every = sigset_t()
    sigfillset(&every)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &every)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    let seconds = "\(Double(length.wholeNanoseconds) / 1_000_000_000)"
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup(seconds), nil]
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    let code = posix_spawnp(&child, "sleep", nil, &attributes, &arguments, environ)
    guard code == 0 else {
        WorkloadMessage.write("workload step child: sleep cannot be started: \(WorkloadMessage.reason(code))")
        return
    }
    WorkloadChild.current.store(child, ordering: .releasing)
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    WorkloadChild.current.store(0, ordering: .releasing)
}

/// The child that is being waited for, so that it does not outlive the run.
package enum WorkloadChild {
    fileprivate static let current = Atomic<pid_t>(0)

    /// Ends the child in progress, if there is one. Any thread.
    package static func kill() {
        let child = current.load(ordering: .acquiring)
        if child > 0 { _ = Glibc.kill(child, SIGKILL) }
    }
}
