@testable internal import LagRemote

extension ThreadObservation {
    /// The number of `epoll_wait`, or of `epoll_pwait` where there is no other.
    static let epollWait: Int64 = {
        #if arch(arm64)
            22
        #else
            232
        #endif
    }()
}
