#ifndef FIXTURES_H
#define FIXTURES_H
typedef int fixture_nothing;
#endif
