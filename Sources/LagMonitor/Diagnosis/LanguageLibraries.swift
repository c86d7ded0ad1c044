/// Which source files of languages are dependencies, by their location: a language's own library, the runtime's internal files,
/// packages installed by a package manager.
enum LanguageLibraries {
    /// For each language: folders of its packages, wherever they are; its libraries below its installation.
    private static let folders: [String: [String]] = [
        // pip, Debian, virtual environments, eggs; folders of standard libraries are followed by a version:
        // `…/lib/python3.11/asyncio/events.py`.
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
    /// Names that a runtime gives to code that is in no file.
    private static let beginnings: [String: [String]] = [
        "python": ["<frozen ", "<__array_function__"],
        "javascript": ["node:", "internal/", "evalmachine."],
        "ruby": ["<internal:"],
    ]

    /// - Parameter language: the file's language: a folder that contains packages of one language may be an ordinary folder in a
    ///   program of another.
    static func holds(_ file: String, language: String?) -> Bool {
        guard let language else { return false }
        // `node_modules/…`, as bundlers name it.
        let path = file.hasPrefix("/") ? file : "/" + file
        return beginnings[language]?.contains(where: file.hasPrefix) == true
            || folders[language]?.contains { path.contains($0) } == true
    }
}

extension InAppRules {
    /// Whether a frame that a language's runtime knows is the program's own; nil: not known. ``inAppPrefixes`` take precedence
    /// over ``notInAppPrefixes``, and both over the rules.
    /// - Parameters:
    ///   - file: the source file; without one only `isLibrary` decides.
    ///   - language: the frame's language.
    ///   - isLibrary: whether it is code of a library, if the runtime reports that.
    package func isInApp(languageFile file: String?, symbol: String, language: String?, isLibrary: Bool?) -> Bool? {
        let names = [file, file.map(ModuleName.base), symbol].compactMap { $0 }
        if Self.matches(names, inAppPrefixes) { return true }
        if Self.matches(names, notInAppPrefixes) { return false }
        if let isLibrary { return !isLibrary }
        return file.map { !LanguageLibraries.holds($0, language: language) }
    }
}
