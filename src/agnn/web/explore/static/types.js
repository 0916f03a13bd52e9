/**
 * The server's answers, and what the page makes of them. Types only: no code is here.
 *
 * Nodes are named by their index in the data, classes by their number (-1: no label). In a picture
 * a node has a position, the target being the first; "by view" means all layers, then each layer.
 *
 * @typedef {import("./explore.js").Page} Page
 * @typedef {import("./link.js").State} State
 * @typedef {[number, number]} Pair
 *
 * @typedef {{name: string, colour: string, ink: string, shape: string, is_empty?: boolean}} Mark of a class
 * @typedef {{mean: number, standard_error: number|null, n: number}} Summary
 * @typedef {{title: string, folder: string, replicas: number, layers: number, betas: number[]|null, accuracy: Summary}} RunFacts
 * @typedef {{key: string, title: string, about: string, count: number}} CohortFacts
 * @typedef {CohortFacts & {nodes: number[], ids: string[], reasons?: string[], proposed?: number[]}} Cohort
 *   why each node is in it and the class that is proposed, where there are such
 * @typedef {{cohort: string, hops: number, count: number, trials: number, title?: string}} Shared what a file without a server is about
 * @typedef {{data: string, nodes: number, edges: number, start: string, classes: Mark[], runs: RunFacts[],
 *   cohorts: CohortFacts[], confusion: number[][], is_labelling?: boolean, shared?: Shared}} About `classes` ends with "no label"
 *
 * @typedef {{index: number, id: string, label: number, degree: number, answers: number[], title?: string,
 *   url?: string, description?: string}} NodeRecord
 * @typedef {{nodes: NodeRecord[], is_all: boolean}} Found
 *
 * @typedef {{index: number, id: string, hop: number, parent: number, label: number, answer: number,
 *   confidence: number, is_train: boolean, place: Pair, share: number[], contribution: number,
 *   radius: number[], attention: (number|null)[], relevance: (number|null)[], title?: string|null,
 *   is_gone?: boolean}} Dot `share` and `radius` by view, the last radius of the contribution; P and R to itself by layer
 * @typedef {{ends: Pair, attention: (number|null)[][], relevance: (number|null)[][], crossing: number[],
 *   weight: number|null}} Link between positions a < b; P and R by direction (to a, to b) and layer, `crossing` by view
 * @typedef {{kind: string, name: string, value: number, nodes: number, node: number|null, id: string, title: string|null,
 *   features: {name: string, value: number, column: number}[]}} Step
 * @typedef {{answer: number, second: number, total: number, constant: number, steps: Step[], sentence: string,
 *   by_class: {label: number, nodes: number, value: number}[]}} Why the lead of a class over the second
 * @typedef {{probabilities: number[], before?: number[], nodes: Dot[], links: Link[], left_out: number, is_hub: boolean,
 *   attention_groups: Line[],
 *   elsewhere: number, farther: number, why: Why|null}} Side what one run sees
 * @typedef {{nodes: Record<number, string>, features: Record<number, string>}} Names
 * @typedef {{node: NodeRecord, sides: Side[], names: Names}} Around
 *
 * @typedef {{how: string, of: number, ids: string[], titles: string[]|null, nodes: string, places: string,
 *   label: string, answer: string, confidence: string, disagreement: string, split: string}} MapAnswer numbers as base64
 * @typedef {{count: number, receivers: string[], senders: string[], relevance: number[]}} CellEdges
 * @typedef {{count: number, features: {column: number, name: string, value: number}[]}} Features
 * @typedef {{before: number[][], after: number[][]}} Change probabilities by run
 *
 * @typedef {{folder: string, labels: number, test: number, accuracy: Summary[],
 *   cohorts: [string, number, number|null][]}} TrainingResult
 * @typedef {{is_running: boolean, done: number, total: number, said: string|null, result: TrainingResult|null,
 *   version: number, shown: string}} Training
 * @typedef {{file: string, nodes: number[], classes: number[], training?: Training,
 *   latest: {label: number, count: number, index: number, id: string, name: string}[]}} Labels in a notebook without a training
 *
 * @typedef {{about: About, map: MapAnswer, search: Found, cohort: Cohort, around: Around,
 *   relevance: {layers: (number|null)[][][]}, cell: CellEdges, removals: {effects: (number|null)[][]},
 *   change: {edges: Pair[], is_smallest: boolean}, features: Features, without: Change, labels: Labels,
 *   "labels.csv": string, suggestions: Cohort,
 *   set: {sets: {classes: number[]|null, said: string}[]}, training: Training}} Answers by question
 *
 * @typedef {{lens: string, value: (number|null)[], radius: number[], sign: number[], number: string[],
 *   words: string[], weight: number[], way: number[], signOf: (value: number|null) => number, shown: (value: number) => string,
 *   groups?: Line[]|null}} Look
 *   what a lens shows: by position, then by link; `groups` where a hub is drawn in groups
 * @typedef {{name: string, value: number|null, node?: number|null}} Line of a hub's picture: a group, or a single node
 * @typedef {{sides: Side[], views: number[], looks: Look[], gone: Set<string>, added: Set<string>, lens: string,
 *   heading: string, titles: string[], verdict: string}} Drawing
 */

export {};
