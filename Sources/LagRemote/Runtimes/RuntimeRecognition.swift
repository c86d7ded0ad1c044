/// The result of recognition.
enum RuntimeRecognition {
    case absent
    case found(any LanguageRuntime)
    /// It exists, but this version is not known: `python 3.15`.
    case unknown(String)
}
