/// Which source files of languages are dependencies, by where they lie: a language's own library, the runtime's inner files, what a package
/// manager installed.
enum LanguageLibraries {
    /// Of a language: folders of its packages, wherever they lie; its libraries below its installation.
    private static let folders: [String: [String]] = [
        // pip, Debian, virtual environments, eggs; in folders of standard libraries, `…/lib/python3.11/asyncio/events.py`, a version follows.
        "python": [
            "/site-packages/", "/dist-packages/", "/lib/python3/", "/lib/python3.", "/lib64/python3.", "/python3.zip/",
        ],
        // npm, pnpm, yarn, Debian's packages.
        "javascript": ["/node_modules/", "/.yarn/", "/usr/share/nodejs/", "/usr/lib/nodejs/", "/vendor/"],
        // The module cache, vendored modules, Debian's and golang.org's GOROOT.
        "go": ["/pkg/mod/", "/vendor/", "/usr/lib/go-", "/usr/share/go-", "/usr/local/go/src/"],
        // Gems, the standard library; `vendor` has folders of the program's own, too.
        "ruby": ["/gems/", "/lib/ruby/", "/usr/share/rubygems-integration/", "/vendor/bundle/"],
        // Composer's, Debian's packages and PEAR's.
        "php": ["/vendor/", "/usr/share/php/", "/usr/local/lib/php/"],
        // The standard library, Debian's packages, CPAN's, those of one user (local::lib), perlbrew's.
        "perl": [
            "/usr/share/perl/", "/usr/share/perl5/", "/perl-base/", "/x86_64-linux-gnu/perl", "/aarch64-linux-gnu/perl",
            "/usr/local/share/perl/", "/lib/perl5/", "/site_perl/", "/vendor_perl/", "/perlbrew/perls/",
        ],
    ]
    /// Names that its runtime gives to what is in no file.
    private static let beginnings: [String: [String]] = [
        "python": ["<frozen ", "<__array_function__"],
        "javascript": ["node:", "internal/", "evalmachine."],
        "ruby": ["<internal:"],
    ]

    /// - Parameter language: whose file it is: a folder that has packages of one language is any folder of a program in another one.
    static func holds(_ file: String, language: String?) -> Bool {
        guard let language else { return false }
        // `node_modules/…`, as bundlers name it.
        let path = file.hasPrefix("/") ? file : "/" + file
        return beginnings[language]?.contains(where: file.hasPrefix) == true
            || folders[language]?.contains { path.contains($0) } == true
    }
}

extension InAppRules {
    /// Whether a frame that a language's runtime knows is the program's own; nil: that is not known. ``inAppPrefixes`` win over ``notInAppPrefixes``, both over the rules.
    /// - Parameters:
    ///   - file: the source file; without one only the runtime's word decides.
    ///   - language: that of the frame.
    ///   - isLibrary: whether it is code of a library, where the runtime says so.
    package func isInApp(languageFile file: String?, symbol: String, language: String?, isLibrary: Bool?) -> Bool? {
        let names = [file, file.map(ModuleName.base), symbol].compactMap { $0 }
        if Self.matches(names, inAppPrefixes) { return true }
        if Self.matches(names, notInAppPrefixes) { return false }
        if let isLibrary { return !isLibrary }
        return file.map { !LanguageLibraries.holds($0, language: language) }
    }
}
