internal import FlyingSocks

/// The body of `/stalls`: chunks of lines as they come, for as long as the client stays.
struct LiveBody: AsyncBufferedSequence {
    typealias Element = UInt8

    let client: LiveClient

    func makeAsyncIterator() -> Iterator { Iterator(client: client) }

    struct Iterator: AsyncBufferedIteratorProtocol {
        let client: LiveClient

        mutating func next() async -> UInt8? { nil }

        /// Whole lines, whatever size the server suggests.
        mutating func nextBuffer(suggested count: Int) async -> [UInt8]? { await client.next() }
    }
}
