import LagDiagnosis
internal import LagModel
import Testing

struct SampleTreeTests {
    private func stack(_ weight: UInt64, _ leafFirst: String) -> CulpritStack {
        CulpritStack(
            weightNanoseconds: weight,
            frames: leafFirst.split(separator: " ").map { CulpritFrame(symbol: String($0), place: "", inApp: true) }
        )
    }

    /// `main>A:10/2[f:7/1 g:3/1]`
    private func text(_ tree: SampleTree) -> String { text(tree.roots) }

    private func text(_ nodes: [StallRecord.SampleNode]) -> String {
        nodes.map { node in
            node.frames.joined(separator: ">") + ":\(node.weightNanoseconds)/\(node.samples)"
                + (node.children.isEmpty ? "" : "[" + text(node.children) + "]")
        }.joined(separator: " ")
    }

    @Test func `a single chain is one node`() {
        #expect(text(SampleTree(stacks: [stack(5, "f A main"), stack(6, "f A main")])) == "main>A>f:11/2")
    }

    @Test func `forks divide nodes, and the heaviest comes first`() {
        let stacks = [stack(3, "g A main"), stack(7, "x f A main"), stack(1, "B main")]
        #expect(text(SampleTree(stacks: stacks)) == "main:11/3[A:10/2[f>x:7/1 g:3/1] B:1/1]")
    }

    @Test func `time in a function itself ends the node`() {
        #expect(text(SampleTree(stacks: [stack(4, "A main"), stack(6, "f A main")])) == "main>A:10/2[f:6/1]")
    }

    @Test func `samples without weight are still counted`() {
        #expect(text(SampleTree(stacks: [stack(4, "A main"), stack(0, "f A main")])) == "main>A:4/2[f:0/1]")
        #expect(text(SampleTree(stacks: [stack(0, "A main"), stack(4, "f A main")])) == "main>A:4/2[f:4/1]")
    }

    @Test func `stacks with different roots are separate trees`() {
        #expect(text(SampleTree(stacks: [stack(4, "f A"), stack(6, "f B")])) == "B>f:6/1 A>f:4/1")
    }

    @Test func `nodes of equal weight are ordered by name`() {
        for _ in 0..<20 {
            let tree = SampleTree(stacks: ["d", "b", "a", "c"].map { stack(1, "\($0) m") })
            #expect(text(tree) == "m:4/4[a:1/1 b:1/1 c:1/1 d:1/1]")
        }
    }

    @Test func `recursion is kept`() {
        #expect(text(SampleTree(stacks: [stack(1, "f f f m"), stack(2, "f f m")])) == "m>f>f:3/2[f:1/1]")
    }

    @Test func `a frame without a symbol is shown by its place`() {
        let stack = CulpritStack(weightNanoseconds: 1, frames: [CulpritFrame(symbol: nil, place: "aa+1f", inApp: true)])
        #expect(text(SampleTree(stacks: [stack])) == "aa+1f:1/1")
    }

    @Test func `without stacks the tree is empty`() {
        #expect(text(SampleTree(stacks: [])) == "")
        #expect(text(SampleTree(stacks: [stack(4, "")])) == "")
    }

    @Test func `a very deep stack is cut at the root, and weights do not overflow`() {
        let deep = CulpritStack(
            weightNanoseconds: .max,
            frames: (0..<5000).map { CulpritFrame(symbol: "f\($0)", place: "", inApp: true) }
        )
        let tree = SampleTree(stacks: [deep, deep])
        #expect(tree.roots.count == 1)
        #expect(tree.roots[0].frames.count == SampleTree.maximumDepth)
        #expect(tree.roots[0].frames.last == "f0")
        #expect(tree.weightNanoseconds == .max)
    }
}
