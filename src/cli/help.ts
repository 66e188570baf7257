import type { Command } from 'commander'
import { EXIT, type ExitName } from '../errors.js'

/** The examples and exit codes at the end of every command's help. */
export interface Guide {
  /** Command lines without `shoal`, each with what it does. */
  readonly examples: readonly (readonly [line: string, does: string])[]
  /** Exit codes in addition to those of every command. */
  readonly exitCodes?: readonly ExitName[]
}

const EVERYWHERE: readonly ExitName[] = ['ok', 'bug', 'usage', 'spider', 'backend']

const WIDTH = 100

export function guide(command: Command, { examples, exitCodes = [] }: Guide): Command {
  const longest = Math.max(...examples.map(([line]) => line.length))
  const onOneLine = examples.every(([, does]) => longest + does.length + 10 <= WIDTH)
  const shown = examples.map(([line, does]) =>
    onOneLine ? `  shoal ${line.padEnd(longest)}  ${does}` : `  shoal ${line}\n      ${does}`,
  )
  const codes = [...EVERYWHERE, ...exitCodes].map(
    (name) => `  ${String(EXIT[name].code).padStart(3)}  ${firstSentence(EXIT[name].meaning)}`,
  )
  const title = examples.length === 1 ? 'Example:' : 'Examples:'
  return command.addHelpText('after', `\n${title}\n${shown.join('\n')}\n\nExit codes:\n${codes.join('\n')}`)
}

function firstSentence(text: string): string {
  return text.split(/(?<=\.) /)[0] ?? text
}
