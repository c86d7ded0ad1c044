/// A Java method's name in records: `com.example.Shop.price`.
struct JavaName {
    /// The class with its package, and the method.
    let text: String
    /// The folder of its source below a root: `com/example/`.
    let folder: String
    /// Whether it belongs to Java's own library, or a library that many programs use.
    let isLibrary: Bool

    /// - Parameter className: as in the JVM, `com/example/Shop`.
    init(className: String, method: String) {
        // A hidden class also has a number or its address in its name, which differs in each process:
        // `Shop$$Lambda$14+0x0000000800c03000`.
        let visible = className.firstRange(of: "+0x").map { className[..<$0.lowerBound] } ?? className[...]
        let stable = visible.firstRange(of: "$$Lambda").map { visible[..<$0.upperBound] } ?? visible
        folder = stable.lastIndex(of: "/").map { String(stable[...$0]) } ?? ""
        text = stable.split(separator: "/").joined(separator: ".") + "." + method
        // A lambda's class only forwards the call.
        isLibrary = Self.isLibrary(text) || stable.hasSuffix("$$Lambda")
    }

    /// - Parameter name: with its package.
    static func isLibrary(_ name: String) -> Bool { libraries.contains(where: name.hasPrefix) }

    private static let libraries = [
        "java.", "javax.", "jdk.", "sun.", "com.sun.", "jakarta.", "kotlin.", "kotlinx.", "scala.", "clojure.", "groovy.",
        "akka.", "reactor.",
        "io.netty.", "io.vertx.", "io.undertow.", "io.grpc.", "io.micrometer.", "io.lettuce.", "org.springframework.",
        "org.apache.", "org.eclipse.",
        "org.hibernate.", "org.jboss.", "org.slf4j.", "org.postgresql.", "org.junit.", "com.fasterxml.", "com.google.",
        "com.mysql.", "com.zaxxer.",
        "ch.qos.logback.", "net.bytebuddy.", "okhttp3.", "redis.clients.",
    ]
}
