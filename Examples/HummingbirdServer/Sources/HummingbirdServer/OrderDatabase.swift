import Glibc

/// Stands for a database client that blocks its caller, as those on a C library do. The server is a thread at the other end of a socket, and slow.
struct OrderDatabase: Sendable {
    private let descriptor: Int32

    struct Unavailable: Error {}

    init() throws {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { throw Unavailable() }
        descriptor = ends[0]
        let server = UnsafeMutableRawPointer(bitPattern: Int(ends[1]))
        var thread = pthread_t()
        let error = pthread_create(
            &thread,
            nil,
            { descriptor in
                let descriptor = Int32(Int(bitPattern: descriptor))
                var query: UInt8 = 0
                while read(descriptor, &query, 1) == 1 {
                    usleep(400_000)
                    _ = write(descriptor, &query, 1)
                }
                return nil
            },
            server
        )
        guard error == 0 else { throw Unavailable() }
    }

    func count() throws -> Int {
        var query: UInt8 = 42
        guard write(descriptor, &query, 1) == 1 else { throw Unavailable() }
        return try waitForAnswer()
    }

    @inline(never) private func waitForAnswer() throws -> Int {
        var answer: UInt8 = 0
        guard read(descriptor, &answer, 1) == 1 else { throw Unavailable() }
        return Int(answer)
    }
}
