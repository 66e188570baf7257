/** What a release changes, as pure functions; `release.ts` does it. */

const HEADING = '## Unreleased'
const VERSION = /^(\d+)\.(\d+)\.(\d+)$/

/** `wanted`: major, minor, patch, or the version itself, which must not be lower than the current one. */
export function nextVersion(current: string, wanted: string): string {
  const [major, minor, patch] = numbersOf(current)
  if (wanted === 'major') return `${major + 1}.0.0`
  if (wanted === 'minor') return `${major}.${minor + 1}.0`
  if (wanted === 'patch') return `${major}.${minor}.${patch + 1}`
  const asked = numbersOf(wanted)
  const difference = asked[0] - major || asked[1] - minor || asked[2] - patch
  // The same is fine: the first release has the version that package.json started with.
  if (difference < 0) throw new Error(`version ${wanted} is lower than the current ${current}`)
  return wanted
}

function numbersOf(version: string): [number, number, number] {
  const match = VERSION.exec(version)
  if (match === null) throw new Error(`'${version}' is not major, minor, patch or a version such as 1.2.3`)
  return [Number(match[1]), Number(match[2]), Number(match[3])]
}

export interface CutChangelog {
  readonly text: string
  /** What the release brings, without its heading. */
  readonly notes: string
}

/** Moves what is under "Unreleased" under the version and its date, and leaves an empty "Unreleased" on top. */
export function cutChangelog(text: string, version: string, date: string): CutChangelog {
  const lines = text.split('\n')
  const start = lines.indexOf(HEADING)
  if (start === -1) throw new Error(`CHANGELOG.md has no section "${HEADING}"`)
  const next = lines.findIndex((line, index) => index > start && line.startsWith('## '))
  const end = next === -1 ? lines.length : next
  const notes = lines
    .slice(start + 1, end)
    .join('\n')
    .trim()
  if (notes === '') throw new Error(`CHANGELOG.md has nothing under "${HEADING}"`)
  const before = lines.slice(0, start + 1)
  const after = lines.slice(end)
  return { text: [...before, '', `## ${version} (${date})`, '', notes, '', ...after].join('\n'), notes }
}
