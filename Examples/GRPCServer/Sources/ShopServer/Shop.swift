import Foundation
import GRPCCore

/// A service whose messages are bytes, so that the example needs no code generator. One of its two methods contains a mistake.
struct Shop: RegistrableRPCService {
    static let hello = MethodDescriptor(fullyQualifiedService: "shop.Shop", method: "Hello")
    static let orders = MethodDescriptor(fullyQualifiedService: "shop.Shop", method: "Orders")

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
        router.registerHandler(forMethod: Self.hello, deserializer: Bytes(), serializer: Bytes()) { _, _ in
            StreamingServerResponse(single: ServerResponse(message: Array("hello".utf8)))
        }
        router.registerHandler(forMethod: Self.orders, deserializer: Bytes(), serializer: Bytes()) { _, _ in
            StreamingServerResponse(single: ServerResponse(message: Array("\(waitForOrders())".utf8)))
        }
    }
}

/// The handler calls a database whose client blocks, so a thread of the concurrency pool waits for the answer.
@inline(never) func waitForOrders() -> Int {
    usleep(400_000)
    return 42
}

/// Passes messages through unchanged.
struct Bytes: MessageSerializer, MessageDeserializer {
    func serialize<Target: GRPCContiguousBytes>(_ message: [UInt8]) -> Target { Target(message) }

    func deserialize<Source: GRPCContiguousBytes>(_ bytes: Source) -> [UInt8] { bytes.withUnsafeBytes { Array($0) } }
}
