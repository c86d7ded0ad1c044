@testable internal import LagRemote

extension ThreadObservation {
    /// The number of `epoll_wait`, or of `epoll_pwait` on architectures without it.
    static let epollWait: Int64 = {
        #if arch(arm64)
            22
        #else
            232
        #endif
    }()
}
