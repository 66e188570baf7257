import { ErrorReply } from '@redis/client'
import { describe, expect, test } from 'vitest'
import { ShoalError } from '../../src/errors.js'
import { atRunTime, dialError, isUnknownScript, replyError } from '../../src/redis/redis-errors.js'

const SERVER = { host: 'queue', port: 6379, tls: null }

function codeOf(error: unknown): string | null {
  return error instanceof ShoalError ? error.code : null
}

describe('An error reply', () => {
  test.each([
    'LOADING Redis is loading the dataset in memory',
    'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
    'MISCONF Redis is configured to save RDB snapshots, but it is currently not able to persist on disk.',
    'MISCONF Errors writing to the AOF file: No space left on device script: 1234, on @user_script:3.',
    "OOM command not allowed when used memory > 'maxmemory'.",
    "ERR Error running script (call to f_12ab): @user_script:7: @user_script: 7: -OOM command not allowed when used memory > 'maxmemory'.",
    "READONLY You can't write against a read only replica.",
    'CLUSTERDOWN The cluster is down',
    'TRYAGAIN Multiple keys request during rehashing of slot',
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    'NOREPLICAS Not enough good replicas to write.',
  ])('is back-pressure: %s', (message) => {
    expect(codeOf(replyError(new ErrorReply(message), SERVER))).toBe('queue_down')
  })

  test.each([
    "NOPERM this user has no permissions to run the 'evalsha' command",
    'NOPERM this user has no permissions to access one of the keys used as arguments',
    "ERR The user executing the script can't run this command or subcommand script: 12, on @user_script:1.",
    "ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -NOPERM The user executing the script can't run this command or subcommand",
  ])('is a missing permission: %s', (message) => {
    expect(codeOf(replyError(new ErrorReply(message), SERVER))).toBe('queue_forbidden')
  })

  test.each(['MOVED 1 host:1', 'ASK 1 host:1', 'NOSCRIPT No matching script.', 'ERR newer layout', 'lower case'])(
    'stays what it is: %s',
    (message) => {
      const error = new ErrorReply(message)
      expect(replyError(error, SERVER)).toBe(error)
      expect(isUnknownScript(error)).toBe(message.startsWith('NOSCRIPT'))
    },
  )
})

describe('A dial that failed', () => {
  test.each([
    [{ code: 'ECONNREFUSED' }, 'queue_unreachable', /nothing listens there/],
    [{ code: 'ENOTFOUND' }, 'queue_unreachable', /host name does not exist/],
    [{ code: 'CERT_HAS_EXPIRED' }, 'queue_tls', /has expired/],
    [{ code: 'EPROTO' }, 'queue_tls', /does not speak TLS/],
    [{ code: 'EMFILE' }, 'no_sockets', /no sockets left/],
    [new AggregateError([{ code: 'EHOSTUNREACH' }]), 'queue_unreachable', /host cannot be reached/],
    [new ErrorReply('DENIED Redis is running in protected mode …'), 'queue_auth', /protected mode/],
    [new ErrorReply("ERR unknown command 'AUTH', with args beginning with: 'canary'"), 'queue_unreachable', /\(ERR\)/],
  ])(
    '%s has a line of its own, without what was sent, and is back-pressure while a crawl runs',
    (cause, code, message) => {
      const error = dialError(cause, SERVER)
      expect(error.code).toBe(code)
      expect(error.message).toMatch(message)
      expect(error.message).not.toContain('canary')
      expect(error.cause).toBeUndefined()
      expect(codeOf(atRunTime(error))).toBe('queue_down')
    },
  )
})
