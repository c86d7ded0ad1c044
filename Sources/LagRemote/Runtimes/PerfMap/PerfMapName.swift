internal import LagCapture

/// Parses the names that runtimes write into perf maps.
///
///     LazyCompile:*slow /app/server.js:10:14          V8: the tier is one of ~ ^ + *; also Function:, JS:, Script:, Eval:
///     py::slow:/app/shop.py                           CPython with -X perf
///     void com.example.Shop.slow(int)                 HotSpot (jcmd PID Compiler.perfmap)
///     Lcom/example/Shop;::slow                        perf-map-agent
///     instance void [shop] Shop.Cart::Slow(int32)[Tier0]   .NET
///
/// Other names stay unchanged, without a language.
enum PerfMapName {
    private static let scriptKinds = ["LazyCompile:", "Function:", "JS:", "Script:", "Eval:"]
    /// Code of V8 that belongs to no script.
    private static let engineKinds = [
        "Builtin:", "BytecodeHandler:", "Stub:", "Handler:", "RegExp:", "Wasm:", "LoadIC:", "StoreIC:",
    ]
    private static let tiers: Set<Character> = ["~", "^", "+", "*", "-"]

    static func parse(_ text: String) -> LanguageFrameName {
        for kind in scriptKinds where text.hasPrefix(kind) { return script(text.dropFirst(kind.count)) }
        if engineKinds.contains(where: text.hasPrefix) {
            return LanguageFrameName(language: "javascript", function: text, symbol: text, isLibrary: true)
        }
        if let name = python(text) ?? dotnet(text) ?? java(text) { return name }
        return LanguageFrameName(language: nil, function: text, symbol: text)
    }

    /// `*slow /app/server.js:10:14`: a function without a name has nothing before the space.
    private static func script(_ text: Substring) -> LanguageFrameName {
        var rest = text
        if let tier = rest.first, tiers.contains(tier) { rest = rest.dropFirst() }
        var numbers: [Int] = []
        var place = rest
        while numbers.count < 2, let colon = place.lastIndex(of: ":"), let number = Int(place[place.index(after: colon)...]) {
            numbers.append(number)
            place = place[..<colon]
        }
        // The name contains no space except in `get x` and `set x`; a path may.
        let (function, file) = split(numbers.isEmpty ? rest : place)
        return LanguageFrameName(
            language: "javascript",
            function: function.isEmpty ? "<anonymous>" : function,
            file: file,
            line: numbers.last.flatMap { $0 > 0 ? $0 : nil }
        )
    }

    private static func split(_ text: Substring) -> (String, String?) {
        for mark in [" file://", " node:", " /"] {
            if let space = text.firstRange(of: mark) {
                let file = text[text.index(after: space.lowerBound)...]
                return (String(text[..<space.lowerBound]), String(file.hasPrefix("file://") ? file.dropFirst(7) : file))
            }
        }
        guard let space = text.lastIndex(of: " ") else { return (String(text), nil) }
        let file = text[text.index(after: space)...]
        return (String(text[..<space]), file.isEmpty ? nil : String(file))
    }

    /// A qualified name contains no colon.
    private static func python(_ text: String) -> LanguageFrameName? {
        guard text.hasPrefix("py::") else { return nil }
        let function = text.dropFirst(4).prefix { $0 != ":" }
        let file = text.dropFirst(4 + function.count + 1)
        guard !function.isEmpty else { return nil }
        return LanguageFrameName(language: "python", function: String(function), file: file.isEmpty ? nil : String(file))
    }

    /// `instance void [shop] Shop.Cart::Slow(int32)[Tier0]`
    private static func dotnet(_ text: String) -> LanguageFrameName? {
        guard let open = text.firstRange(of: " ["), let close = text[open.upperBound...].firstIndex(of: "]"),
            text[close...].firstRange(of: "::") != nil
        else { return nil }
        let assembly = text[open.upperBound..<close]
        let call = text[text.index(after: close)...].drop { $0 == " " }
        let name = call.prefix { $0 != "(" && $0 != "[" }.split(separator: "::", maxSplits: 1).joined(separator: ".")
        guard !name.isEmpty else { return nil }
        let isLibrary = assembly.hasPrefix("System.") || assembly == "System" || assembly.hasPrefix("Microsoft.")
        return LanguageFrameName(language: "dotnet", function: name, symbol: name, isLibrary: isLibrary)
    }

    /// `void com.example.Shop.slow(int)`, `Lcom/example/Shop;::slow`
    private static func java(_ text: String) -> LanguageFrameName? {
        var name: String
        if text.hasPrefix("L"), let mark = text.firstRange(of: ";::") {
            name = text[text.index(after: text.startIndex)..<mark.lowerBound].split(separator: "/").joined(separator: ".")
            name += "." + text[mark.upperBound...].prefix { $0 != "(" }
        } else {
            guard let open = text.firstIndex(of: "("), text.hasSuffix(")"), let space = text[..<open].lastIndex(of: " ") else {
                return nil
            }
            name = String(text[text.index(after: space)..<open])
        }
        // A hidden class also has its address in its name, which differs in each process:
        // `Shop$$Lambda$4/0x0000000800c03000.run`.
        if let address = name.firstRange(of: "/0x") {
            name.removeSubrange(address.lowerBound..<(name[address.upperBound...].firstIndex(of: ".") ?? name.endIndex))
        }
        guard name.contains("."), !name.hasPrefix("."), !name.hasSuffix("."),
            name.allSatisfy({ $0.isLetter || $0.isNumber || "._$<>/-".contains($0) })
        else { return nil }
        return LanguageFrameName(language: "java", function: name, symbol: name, isLibrary: JavaName.isLibrary(name))
    }
}
