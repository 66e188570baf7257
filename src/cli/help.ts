import { type Command, Help, type Option } from 'commander'
import { EXIT, type ExitName, ShoalError } from '../errors.js'
import { nearest } from '../nearest.js'
import { stdout } from './terminal/streams.js'
import { wrap } from './terminal/width.js'

/** The examples and exit codes at the end of every command's help. */
export interface Guide {
  /** Command lines without `shoal`, each with what it does. */
  readonly examples: readonly (readonly [line: string, does: string])[]
  /** Exit codes in addition to those of every command. */
  readonly exitCodes?: readonly ExitName[]
}

const EVERYWHERE: readonly ExitName[] = ['ok', 'bug', 'usage', 'spider', 'backend']

/** In a pipe. */
const PIPE_WIDTH = 80

export function guide(command: Command, { examples, exitCodes = [] }: Guide): Command {
  const title = examples.length === 1 ? 'Example:' : 'Examples:'
  return command.addHelpText('after', () => {
    const width = command.configureHelp().helpWidth ?? helpWidth()
    const shown = exampleLines(examples, width)
    const codes = [...EVERYWHERE, ...exitCodes].flatMap((name) => codeLines(name, width))
    return ['', title, ...shown, '', 'Exit codes:', ...codes].join('\n')
  })
}

/** That an option is off or empty unless it is given goes without saying. */
export function optionDescription(option: Option): string {
  return new Help().optionDescription(option).replace(/ \(default: (?:false|\[\]|\{\})\)$/, '')
}

/** Columns of the terminal. */
export function helpWidth(): number {
  return stdout.isTTY ? stdout.columns || PIPE_WIDTH : PIPE_WIDTH
}

function exampleLines(examples: Guide['examples'], width: number): string[] {
  const longest = Math.max(...examples.map(([line]) => line.length))
  const onOneLine = examples.every(([, does]) => longest + does.length + 10 <= width)
  return examples.flatMap(([line, does]) =>
    // A command is never wrapped: somebody copies it.
    onOneLine ? [`  shoal ${line.padEnd(longest)}  ${does}`] : [`  shoal ${line}`, ...wrap(`      ${does}`, width)],
  )
}

function codeLines(name: ExitName, width: number): string[] {
  const code = `  ${String(EXIT[name].code).padStart(3)}  `
  const lines = wrap(firstSentence(EXIT[name].meaning), width - code.length)
  return lines.map((line, nth) => (nth === 0 ? code : ' '.repeat(code.length)) + line.trimStart())
}

/** `shoal help records get`: the same as `shoal records get --help`. */
export function helpCommand(program: Command): void {
  const help = program
    .command('help')
    .description('show the help of a command')
    .argument('[command...]', 'the command, such as `run` or `records get`')
    .action((words: readonly string[]) => commandNamed(program, words).outputHelp())
  guide(help, {
    examples: [
      ['help run', 'the same as shoal run --help'],
      ['help records get', 'a command of a command'],
    ],
  })
}

function commandNamed(program: Command, words: readonly string[]): Command {
  let command = program
  for (const word of words) {
    const child = command.commands.find((one) => one.name() === word || one.aliases().includes(word))
    if (child === undefined) throw unknownCommand(command, word)
    command = child
  }
  return command
}

function unknownCommand(parent: Command, word: string): ShoalError {
  const path = pathOf(parent)
  const names = namesOf(parent)
  const meant = nearest(word, names)
  const fault = names.length === 0 ? `'${path}' has no commands of its own` : `there is no command '${path} ${word}'`
  return new ShoalError('usage', meant === null ? fault : `${fault}, did you mean ${meant}?`, {
    hint: `See \`${path} --help\`.`,
  })
}

/** A command that only has commands of its own says which, if none of them is given. */
export function refuseIncomplete(command: Command): void {
  for (const child of command.commands) refuseIncomplete(child)
  if (command.commands.length === 0) return
  command.exitOverride((error) => {
    if (error.code !== 'commander.help') throw error
    const path = pathOf(command)
    throw new ShoalError('usage', `incomplete command: '${path}' is followed by ${namesOf(command).join(', ')}`, {
      hint: `See \`${path} --help\`.`,
    })
  })
}

function namesOf(command: Command): string[] {
  return command.commands.map((one) => one.name())
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
}

function firstSentence(text: string): string {
  return text.split(/(?<=\.) /)[0] ?? text
}
