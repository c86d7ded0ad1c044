internal import LagModel

/// The name of a request from its context's attributes, like the span name of a server in OpenTelemetry's conventions, which has
/// low cardinality.
enum RequestName {
    private static let routes = ["http.route", "http_route", "url.template"]
    private static let methods = ["http.request.method", "http.method", "http_method"]

    /// Nil if no suitable attribute exists: a path or a user has too many values.
    static func of(_ attributes: [(key: String, value: [UInt8])]) -> String? {
        func value(_ keys: [String]) -> String? {
            for key in keys {
                guard let found = attributes.first(where: { $0.key == key }), !found.value.isEmpty else { continue }
                return String(decoding: found.value, as: UTF8.self)
            }
            return nil
        }
        if let name = value([StallRecord.Request.publishedKey]) { return name }
        if let route = value(routes) { return value(methods).map { "\($0) \(route)" } ?? route }
        if let method = value(["rpc.method"]) { return value(["rpc.service"]).map { "\($0)/\(method)" } ?? method }
        guard let destination = value(["messaging.destination.template", "messaging.destination.name"]) else {
            return value(["graphql.operation.name"])
        }
        return value(["messaging.operation.name"]).map { "\($0) \(destination)" } ?? destination
    }
}
