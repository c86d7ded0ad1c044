internal import AsyncHTTPClient
internal import CLibraryStalls
internal import Crypto
internal import Dispatch
internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import NIOEmbedded
internal import NIOPosix
internal import Synchronization

// Swift packages for servers: their modules are linked into the executable, but are not the program's own modules.

extension Corpus {
    static let server: [Scenario] = [
        Scenario("crypto-sha512", ["cpu"], ["fingerprintFiles"], "SHA512.hash", fingerprintFiles),
        Scenario("crypto-sign", ["cpu"], ["signReceipts"], "signatures on P-256", signReceipts),
        Scenario("crypto-seal", ["cpu"], ["sealMessages"], "AES-GCM", sealMessages),
        Scenario("crypto-hkdf", ["cpu"], ["deriveKeys"], "HKDF: the library's generics, specialised in the program", deriveKeys),
        Scenario(
            "http-client-wait",
            ["lock"],
            ["fetchPrices"],
            "waiting for AsyncHTTPClient's future",
            preparing: {
                let server = try SilentHTTP()
                return { end in
                    server.answer(at: end)
                    return fetchPrices(server.address)
                }
            }
        ),
        Scenario(
            "nio-future-wait",
            ["lock"],
            ["awaitUpstream"],
            "waiting for an event loop's promise",
            preparing: {
                let loop = MultiThreadedEventLoopGroup.singleton.next()
                return { end in
                    let promise = loop.makePromise(of: Int.self)
                    loop.scheduleTask(in: .nanoseconds(Int64(end - moment_now()))) { promise.succeed(7) }
                    return awaitUpstream(promise.futureResult)
                }
            }
        ),
        Scenario("nio-buffer", ["cpu"], ["parseFrames"], "ByteBuffer is read and written", parseFrames),
        Scenario(
            "nio-handler",
            ["cpu"],
            ["ThumbnailHandler.channelRead"],
            caller: "deliverRequest",
            "a channel handler computes: only frames of NIO are between it and its caller",
            deliverRequest
        ),
        Scenario(
            "hummingbird-wait",
            ["lock"],
            ["renderThroughRouter"],
            "waiting for a router's response with a semaphore",
            preparing: {
                let router = Router()
                router.get("page") { request, _ -> String in
                    rest_until(request.uri.queryParameters.get("end", as: UInt64.self) ?? 0)
                    return "page"
                }
                let responder = router.buildResponder()
                return { renderThroughRouter(responder, until: $0) }
            }
        ),
        Scenario(
            "hummingbird-main-actor",
            ["cpu"],
            ["renderPage"],
            caller: "closure in makePages",
            "a route handler on the main actor computes",
            mainActor: { length in
                let measured = TruthBox()
                _ = try await makePages(measured, length).buildResponder().respond(to: pageRequest(), context: .standalone())
                return try measured.get()
            }
        ),
        Scenario(
            "main-actor-task",
            ["cpu"],
            ["refreshInbox"],
            caller: "closure in Corpus.server",
            "an async function of the main actor computes after an await",
            mainActor: { await refreshInbox($0) }
        ),
    ]
}

func fingerprintFiles(until end: moment) -> Int {
    let file = Data(repeating: 0x5a, count: 1 << 18)
    var bytes = 0
    while moment_now() < end { bytes += Array(SHA512.hash(data: file)).count }
    return bytes
}

func signReceipts(until end: moment) -> Int {
    let key = P256.Signing.PrivateKey()
    let receipt = Data("receipt".utf8)
    var bytes = 0
    while moment_now() < end { bytes += (try? key.signature(for: receipt).rawRepresentation.count) ?? 0 }
    return bytes
}

func sealMessages(until end: moment) -> Int {
    let key = SymmetricKey(size: .bits256)
    let message = Data(repeating: 0x41, count: 1 << 14)
    var bytes = 0
    while moment_now() < end { bytes += (try? AES.GCM.seal(message, using: key).ciphertext.count) ?? 0 }
    return bytes
}

func deriveKeys(until end: moment) -> Int {
    let secret = SymmetricKey(size: .bits256)
    var bits = 0
    while moment_now() < end { bits += HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, outputByteCount: 1024).bitCount }
    return bits
}

@inline(never)
func fetchPrices(_ address: String) -> Int {
    let response = try? HTTPClient.shared.get(url: address).wait()
    return response?.headers.count ?? -1
}

@inline(never)
func awaitUpstream(_ future: EventLoopFuture<Int>) -> Int { (try? future.wait()) ?? -1 }

func parseFrames(until end: moment) -> Int {
    var frames = 0
    while moment_now() < end {
        var buffer = ByteBuffer()
        for number in 0..<200 {
            buffer.writeInteger(UInt32(number))
            buffer.writeString("frame \(number)")
            buffer.writeInteger(UInt16(number))
        }
        while let number = buffer.readInteger(as: UInt16.self) { frames &+= Int(number) }
    }
    return frames
}

final class ThumbnailHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    let end: moment
    var sum = 1

    init(until end: moment) { self.end = end }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        while moment_now() < end {
            for round in 0..<2_000 { sum = (sum &* 31) ^ round }
        }
        context.fireChannelRead(data)
    }
}

func deliverRequest(until end: moment) throws -> Int {
    let handler = ThumbnailHandler(until: end)
    let channel = EmbeddedChannel(handler: handler)
    try channel.writeInbound(ByteBuffer(string: "request"))
    return handler.sum
}

@inline(never)
func renderThroughRouter(_ responder: RouterResponder<BasicRequestContext>, until end: moment) -> Int {
    let done = DispatchSemaphore(value: 0)
    Task.detached {
        _ = try? await responder.respond(to: pageRequest("?end=\(end)"), context: .standalone())
        done.signal()
    }
    done.wait()
    return 1
}

func pageRequest(_ query: String = "") -> Request {
    let head = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/page\(query)")
    return Request(head: head, body: RequestBody(buffer: ByteBuffer()))
}

extension BasicRequestContext {
    /// A handler's context without a connection.
    static func standalone() -> BasicRequestContext {
        BasicRequestContext(source: ApplicationRequestContextSource(channel: EmbeddedChannel(), logger: Logger(label: "stalls")))
    }
}

/// The measurement of a stall whose caller cannot measure it.
final class TruthBox: Sendable {
    private let truth = Mutex<Truth?>(nil)

    func put(_ new: Truth) { truth.withLock { $0 = new } }
    func get() throws -> Truth {
        guard let truth = truth.withLock({ $0 }) else { throw Unavailable(reason: "the handler was not called") }
        return truth
    }
}

func makePages(_ measured: TruthBox, _ length: UInt64) -> Router<BasicRequestContext> {
    let router = Router()
    router.get("page") { @MainActor _, _ -> String in
        let meter = TruthMeter()
        let page = renderPage(until: moment_now() + length)
        measured.put(meter.end())
        return page
    }
    return router
}

@inline(never)
func renderPage(until end: moment) -> String {
    var sum = 1
    while moment_now() < end {
        for round in 0..<2_000 { sum = (sum &* 53) ^ round }
    }
    return "\(sum)"
}

@MainActor @inline(never)
func refreshInbox(_ length: UInt64) async -> Truth {
    await Task.yield()
    let meter = TruthMeter()
    let end = moment_now() + length
    while moment_now() < end {
        for round in 0..<2_000 { inboxSum = (inboxSum &* 59) ^ round }
    }
    return meter.end()
}

@MainActor private var inboxSum = 1
