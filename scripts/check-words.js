#!/usr/bin/env node
// Words that Shoal no longer uses, with what to write instead (docs/glossary.md has the vocabulary). `npm run check` fails if one of them is used
// again. `node scripts/check-words.js <path…>` checks only these paths.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

const RETIRED = [
  [/\bplants?\b/i, 'backend'],
  [
    /\b(?<!process\.)(?<!')(?<!--)[Ee]xits?\b(?![ -]?codes?\b)(?!\()(?!')/,
    "proxy, or 'direct'; exit is for exit codes",
  ],
  [/(?<!-)\bboards?\b/i, 'shared notes'],
  [/\bsheets?\b(?!\.css)/i, 'note'],
  [/\bbesides?\b/i, 'alongside; sidecar'],
  [/\bcrews?\b/i, 'local workers'],
  [/\bdesks?\b/i, 'allocator'],
  [/\bways? out\b/i, 'proxy'],
  [/\blookouts?\b/i, 'snapshots'],
  [/\b(?:a|one|each|every|the|this|that|next|last|shared|two|of) looks?\b|\blooks that\b/i, 'snapshot, check'],
  [/\btend(?:s|ed|ing)?\b(?! to\b)/i, 'duty, job'],
  [/(?<!high-|low-|high |low )\bwater\b/i, 'backpressure'],
  [/\bupkeep\b/i, 'maintenance'],
  [/\b(?:story|stories)\b/i, 'history'],
  [/\b(?:told|tell|tells|telling)\b/i, 'report, say, notify'],
  [/\bmend(?:s|ed|ing)?\b/i, 'fix'],
  [/\b(?:stand|stands|stood|standing)\b(?! ?(?:for|alone)\b)/i, 'is, lives, is defined'],
  [/\b(?:go|goes|going|gone|went) on\b/i, 'continue, resume'],
  [/\bdoors?\b/i, 'filter'],
  [/\blet in\b/i, 'accepted'],
  [/\bin hand\b/i, 'in flight'],
  [/\bdrawn\b/i, 'rendered'],
  [/\bas a rule\b/i, 'usually; median'],
  [/\bby (?:itself|themselves)\b/i, 'automatically'],
  [/(?<!-)\baway\b(?! from)/i, 'unreachable, down'],
  [/\bbeyond\b/i, 'over, more than'],
  [/\b(?:is|are|was|were) noted\b/i, 'logged, recorded'],
  [/\b(?:hear|hears|heard)\b/i, 'receive, learn'],
  [/\b(?:is|are|was|were) made\b/i, 'created'],
]

const given = process.argv.slice(2)
const tracked = execFileSync(
  'git',
  ['ls-files', ...(given.length > 0 ? given : ['src', 'docs', 'dashboard', 'README.md'])],
  {
    encoding: 'utf8',
  },
)
const found = tracked
  .split('\n')
  .filter((file) => /\.(?:ts|tsx|js|lua|sql|md|css|html|json)$/.test(file) && existsSync(file))
  .flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        RETIRED.flatMap(([pattern, instead]) => {
          const word = pattern.exec(line)?.[0]
          return word === undefined
            ? []
            : [`${file}:${index + 1}: '${word}' (write: ${instead})  ${line.trim().slice(0, 120)}`]
        }),
      ),
  )
for (const line of found) console.error(line)
if (found.length > 0) console.error(`${found.length} retired words`)
process.exitCode = found.length > 0 ? 1 : 0
