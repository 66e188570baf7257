import { describe, expect, test } from 'vitest'
import { nameOf, parseAddress } from '../../src/redis/address.js'

const PLAIN = { credentials: {}, tls: null, database: 0 }

describe('the address of a Redis queue', () => {
  test.each([
    ['redis://localhost', { kind: 'server', servers: [{ host: 'localhost', port: 6379 }], login: PLAIN }],
    ['redis://[::1]:7000/', { kind: 'server', servers: [{ host: '::1', port: 7000 }], login: PLAIN }],
    [
      'redis://shoal:p%40ss%2Fw@10.0.0.1:6380/2',
      {
        kind: 'server',
        servers: [{ host: '10.0.0.1', port: 6380 }],
        login: { credentials: { username: 'shoal', password: 'p@ss/w' }, tls: null, database: 2 },
      },
    ],
    [
      'redis://:a@b@host',
      {
        kind: 'server',
        servers: [{ host: 'host', port: 6379 }],
        login: { ...PLAIN, credentials: { password: 'a@b' } },
      },
    ],
    [
      'rediss://host:6380?ca=/etc/ssl/our%20ca.pem&servername=queue.example',
      {
        kind: 'server',
        servers: [{ host: 'host', port: 6380 }],
        login: { ...PLAIN, tls: { caFile: '/etc/ssl/our ca.pem', servername: 'queue.example' } },
      },
    ],
    [
      'redis+cluster://a:1,b:2,c',
      {
        kind: 'cluster',
        servers: [
          { host: 'a', port: 1 },
          { host: 'b', port: 2 },
          { host: 'c', port: 6379 },
        ],
        login: PLAIN,
      },
    ],
    [
      'rediss+sentinel://:pw@s1,s2:5000/mymaster/3',
      {
        kind: 'sentinel',
        master: 'mymaster',
        servers: [
          { host: 's1', port: 26379 },
          { host: 's2', port: 5000 },
        ],
        login: { credentials: { password: 'pw' }, tls: {}, database: 3 },
      },
    ],
  ])('%s is read', (address, expected) => {
    expect(parseAddress(address)).toEqual(expected)
  })

  test.each([
    ['redis:host', /not of the form redis:\/\/host:port/],
    ['redis://', /a host is missing/],
    ['redis://:canary@', /a host is missing/],
    ['redis://user:canary@ho st', /a host is missing/],
    ['redis://user:canary@host:0', /port must be between/],
    ['redis://user:canary@host:99999', /port must be between/],
    ['redis://user:canary@host/two', /database must be a number/],
    ['redis://user:canary@host/2/3', /database must be a number/],
    ['redis://user:canary@a,b', /several hosts need redis\+cluster/],
    ['redis+cluster://user:canary@a,b/1', /only database 0/],
    ['redis+sentinel://user:canary@a,b', /name of the master is missing/],
    ['redis://user:canary%@host', /% in it/],
    ['redis://user:canary/x@host', /a host is missing|database must be a number/],
    ['rediss://user:canary@host?password=canary', /unknown parameter 'password'/],
    ['redis://user:canary@host?ca=file', /for rediss:\/\/ only/],
  ])('%s is refused without showing it', (address, message) => {
    const read = () => parseAddress(address)
    expect(read).toThrow(message)
    expect(read).toThrow(expect.objectContaining({ code: 'queue_address' }))
    expect(read).not.toThrow(/canary/)
  })

  test('is shown as host and port', () => {
    expect(nameOf({ host: '::1', port: 1 })).toBe('[::1]:1')
    expect(nameOf({ host: 'a', port: 1 })).toBe('a:1')
  })
})
