import type { Command } from 'commander'
import { buildProgram } from './program.js'

const WIDTH = 100

/** Every command with its help, for docs/cli.md. */
export async function commandReference(): Promise<{ readonly name: string; readonly help: string }[]> {
  return describe(await buildProgram(), '')
}

function describe(command: Command, before: string): { name: string; help: string }[] {
  const name = `${before}${command.name()}`
  let help = ''
  // The common flags are listed once, with the program itself.
  command.configureHelp({ ...command.configureHelp(), helpWidth: WIDTH, showGlobalOptions: false })
  const writeOut = (text: string) => {
    help += text
  }
  command.configureOutput({ writeOut, getOutHasColors: () => false }).outputHelp()
  return [{ name, help: help.trim() }, ...command.commands.flatMap((child) => describe(child, `${name} `))]
}
