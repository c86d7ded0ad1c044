/// A method of Java, as records name it: `com.example.Shop.price`.
struct JavaName {
    /// The class with its package, and the method.
    let text: String
    /// Where its source is below a root: `com/example/`.
    let folder: String
    /// Of Java's own library, or of a library that many programs use.
    let isLibrary: Bool

    /// - Parameter className: as the machine has it, `com/example/Shop`.
    init(className: String, method: String) {
        // A hidden class is called by a number or its address as well, another one in each process: `Shop$$Lambda$14+0x0000000800c03000`.
        let visible = className.firstRange(of: "+0x").map { className[..<$0.lowerBound] } ?? className[...]
        let stable = visible.firstRange(of: "$$Lambda").map { visible[..<$0.upperBound] } ?? visible
        folder = stable.lastIndex(of: "/").map { String(stable[...$0]) } ?? ""
        text = stable.split(separator: "/").joined(separator: ".") + "." + method
        // A lambda's class only passes the call on.
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
