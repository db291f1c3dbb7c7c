"""The statements that the programs of several clients send to a CUBRID server."""

from __future__ import annotations

SETUP = (
    "CREATE TABLE hr_a (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20), price NUMERIC(10,2) DEFAULT 0.5, "
    "rate DOUBLE, kind SMALLINT DEFAULT 1, made DATE)",
    "CREATE TABLE hr_b (id INT AUTO_INCREMENT PRIMARY KEY, a_id INT, note VARCHAR(20), "
    "CONSTRAINT fk_hr_b FOREIGN KEY (a_id) REFERENCES hr_a (id))",
    "CREATE TABLE hr_u (k INT NOT NULL, v VARCHAR(20), CONSTRAINT u_hr_u UNIQUE (k))",
    "CREATE VIEW hr_v AS SELECT id, name FROM hr_a WHERE id < 3",
    "INSERT INTO hr_a (name, price, rate, kind, made) VALUES ('apple', 1.5, 0.25, 1, DATE'2024-01-31'), "
    "('beer', 2.25, 1.5, 2, DATE'2024-02-29'), (NULL, 10, 2e10, 1, NULL)",
    "INSERT INTO hr_b (a_id, note) VALUES (1, 'first'), (1, 'second'), (2, 'third'), (NULL, 'none')",
)
"""The tables that the statements use."""

CLEANUP = (
    *(f"DROP TABLE IF EXISTS {name}" for name in ("hr_b", "hr_a", "hr_u", "hr_c", "hr_d", "hr_e", "hr_t", "hr_l")),
    "DROP VIEW IF EXISTS hr_v",
)
"""What removes whatever a run leaves."""

TYPES = {
    "SMALLINT": ["0", "-32768", "32767"],
    "INT": ["0", "-2147483648", "2147483647"],
    "BIGINT": ["0", "-9223372036854775808", "9223372036854775807"],
    "NUMERIC(10,2)": ["0", "1.005", "-12345678.99"],
    "NUMERIC(38,0)": ["99999999999999999999999999999999999999", "-1"],
    "FLOAT": ["0.5", "-1.25e10"],
    "DOUBLE": ["0.1", "-1.25e100", "1e-300"],
    "MONETARY": ["12.5", "-0.25"],
    "CHAR(5)": ["''", "'ab'", "'abcde'", "'한글'"],
    "VARCHAR(10)": ["''", "'it''s'", "'한글 text'", "'a '"],
    "STRING": ["'a long text'"],
    "NCHAR(4)": ["N'ab'"],
    "NCHAR VARYING(8)": ["N'ab'"],
    "BIT(8)": ["B'10101010'", "X'0f'"],
    "BIT(12)": ["B'101'"],
    "BIT VARYING(32)": ["X'ABCD'", "B'1'"],
    "DATE": ["DATE'2024-02-29'", "'2024-02-29'", "'02/29/2024'", "DATE'0001-01-01'", "DATE'9999-12-31'"],
    "TIME": ["TIME'13:45:59'", "'00:00:00'", "'01:45:59 PM'"],
    "TIMESTAMP": ["TIMESTAMP'2024-02-29 13:45:59'", "'2024-02-29 13:45:59'"],
    "DATETIME": ["DATETIME'2024-02-29 13:45:59.123'", "'2024-02-29 13:45:59.1'", "'2024-02-29'"],
    "TIMESTAMPTZ": ["TIMESTAMPTZ'2024-02-29 13:45:59 Asia/Seoul'", "TIMESTAMPTZ'2024-02-29 13:45:59 +09:30'"],
    "DATETIMETZ": [
        "DATETIMETZ'2024-11-03 01:30:00.5 America/New_York EDT'",
        "DATETIMETZ'2024-11-03 01:30:00.5 America/New_York EST'",
    ],
    "TIMESTAMPLTZ": ["TIMESTAMPTZ'2024-02-29 13:45:59 Asia/Seoul'"],
    "DATETIMELTZ": ["DATETIMETZ'2024-02-29 13:45:59.123 Asia/Seoul'"],
    "ENUM('red','green','blue')": ["'red'", "3", "'green'"],
    "JSON": ['\'{"a": [1, 2.5, null], "b": "x"}\'', "'[]'", "'1'"],
    "SET(INT)": ["{3,1,2,1}", "{}", "{NULL,1}"],
    "MULTISET(INT)": ["{3,1,2,1}"],
    "SEQUENCE(INT)": ["{3,1,2,1}"],
    "SET(VARCHAR(5))": ["{'b','a','b'}"],
    "SEQUENCE(DOUBLE)": ["{1.5,2}"],
    "SEQUENCE(DATE)": ["{DATE'2024-02-29'}"],
}
"""Values of each type as literals."""

REFUSED = {
    "SMALLINT": ["32768", "'x'"],
    "INT": ["2147483648", "'abc'", "1.5", "'12'"],
    "NUMERIC(4,2)": ["100", "99.999", "'x'"],
    "CHAR(3)": ["'abcd'", "'abc  '", "12"],
    "VARCHAR(3)": ["'abcd'", "'abc  '", "12"],
    "DATE": ["'2023-02-29'", "'x'", "5"],
    "TIME": ["'25:00:00'"],
    "DATETIME": ["'2024-13-01 00:00:00'"],
    "ENUM('red','green')": ["'blue'", "7"],
    "JSON": ["'{'"],
}
"""Values that are refused, or changed, where they are stored."""

EXPRESSIONS = """
1+1
7-10
3*4
7/2
-7/2
7%3
-7%3
3/2.0
1.5*2
1.5+2.25
10.00/3
1e0/3
2147483647+1
1+1.5e0
'1'+1
'a'||'b'
'a'||NULL
NULL+1
-(-5)
(1+2)*3
1+2*3
1=1
1<>1
1<2
2>=3
NULL=NULL
NULL<=>NULL
1<=>NULL
NULL IS NULL
1 IS NOT NULL
NOT 1=2
1=1 AND 2=3
1=1 OR 2=3
1=1 XOR 2=2
3 BETWEEN 1 AND 5
3 NOT BETWEEN 1 AND 5
2 IN (1,2,3)
2 NOT IN (1,2,3)
'abc' LIKE 'a%'
'abc' LIKE 'a_c'
'abc' NOT LIKE 'x%'
'a%c' LIKE 'a!%c' ESCAPE '!'
'a'='a  '
'a'='A'
'a'<'b'
1=1.0
1='1'
CASE WHEN 1=1 THEN 'yes' ELSE 'no' END
CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END
IF(1=1,'a','b')
NVL(NULL,5)
NVL2(NULL,1,2)
IFNULL(NULL,1)
COALESCE(NULL,NULL,3)
NULLIF(1,2)
DECODE(2,1,'a',2,'b','c')
GREATEST(1,3,2)
LEAST(3,1,2)
ABS(-5)
ABS(-1.5)
CEIL(1.2)
FLOOR(-1.2)
ROUND(2.5)
ROUND(-2.567,2)
ROUND(1234,-2)
TRUNC(2.567,1)
SIGN(-3)
MOD(7,3)
SQRT(16)
POWER(2,10)
EXP(0)
LN(1)
LOG10(100)
SIN(0)
PI()
UPPER('abC')
LOWER('aBC')
LENGTH('한글')
CHAR_LENGTH('abc')
OCTET_LENGTH('한글')
BIT_LENGTH('abc')
CONCAT('a','b','c')
CONCAT_WS('-','a','b')
SUBSTR('abcdef',2,3)
SUBSTR('abcdef',-3,2)
SUBSTRING('abcdef',2)
LEFT('abcdef',2)
RIGHT('abcdef',2)
LPAD('a',3,'xy')
RPAD('a',3,'xy')
TRIM('  a ')
LTRIM('  a ')
RTRIM('  a ')
TRIM(LEADING 'x' FROM 'xxaxx')
REPLACE('abcabc','b','x')
TRANSLATE('abc','ab','xy')
POSITION('c' IN 'abc')
INSTR('abcabc','b')
LOCATE('b','abc')
REVERSE('abc')
REPEAT('ab',3)
SPACE(3)
ASCII('A')
CHR(65)
STRCMP('a','b')
HEX('a')
BIN(10)
CAST('12' AS INT)
CAST(1.6 AS INT)
CAST(12 AS VARCHAR(5))
CAST('abc' AS CHAR(5))
CAST('abcdef' AS VARCHAR(3))
CAST('2024-02-29' AS DATE)
CAST('13:45:59' AS TIME)
CAST('2024-02-29 13:45:59' AS DATETIME)
CAST(DATE'2024-02-29' AS DATETIME)
CAST(DATETIME'2024-02-29 13:45:59.123' AS DATE)
CAST(DATETIME'2024-02-29 13:45:59.123' AS TIMESTAMP)
CAST(DATE'2024-02-29' AS VARCHAR(20))
CAST(TIME'13:45:59' AS VARCHAR(20))
CAST(DATETIME'2024-02-29 13:45:59.123' AS VARCHAR(40))
CAST(1.5e0 AS VARCHAR(30))
CAST(123.456 AS NUMERIC(10,1))
CAST(12 AS NUMERIC(10,2))
CAST(X'AB' AS BIT VARYING(16))
CAST({1,2,2} AS SET(INT))
CAST({2,1,2} AS MULTISET(INT))
CAST({2,1,2} AS LIST(INT))
{1,2,3}
SET{3,1}
DATE'2024-02-29'
TIME'13:45:59'
TIMESTAMP'2024-02-29 13:45:59'
DATETIME'2024-02-29 13:45:59.123'
DATE'2024-02-29'+1
DATE'2024-03-01'-DATE'2024-02-28'
TIME'13:45:59'+1
DATETIME'2024-02-29 13:45:59.123'+1000
DATETIME'2024-02-29 00:00:01'-DATETIME'2024-02-29 00:00:00'
YEAR(DATE'2024-02-29')
MONTH('2024-02-29')
DAY(DATETIME'2024-02-29 13:45:59')
HOUR(TIME'13:45:59')
MINUTE('13:45:59')
SECOND(DATETIME'2024-02-29 13:45:59')
QUARTER(DATE'2024-05-01')
DAYOFWEEK(DATE'2024-02-29')
WEEKDAY(DATE'2024-02-29')
DAYOFYEAR(DATE'2024-02-29')
EXTRACT(YEAR FROM DATE'2024-02-29')
EXTRACT(MILLISECOND FROM DATETIME'2024-02-29 13:45:59.123')
LAST_DAY(DATE'2024-02-10')
ADD_MONTHS(DATE'2024-01-31',1)
DATEDIFF('2024-03-01','2024-02-28')
DATE_ADD(DATE'2024-01-31', INTERVAL 1 MONTH)
DATE_SUB(DATETIME'2024-02-29 00:00:00', INTERVAL 1 SECOND)
ADDDATE(DATE'2024-02-28', 2)
TO_DATE('29/02/2024','DD/MM/YYYY')
TO_CHAR(DATE'2024-02-29','YYYY-MM-DD')
TO_CHAR(DATETIME'2024-02-29 13:45:59.123','YYYY-MM-DD HH24:MI:SS.FF')
TO_CHAR(12)
DATE_FORMAT(DATETIME'2024-02-29 13:45:59','%Y/%m/%d %H:%i:%s')
STR_TO_DATE('2024-02-29','%Y-%m-%d')
DATE('2024-02-29 13:45:59')
TIME('2024-02-29 13:45:59')
UNIX_TIMESTAMP(TIMESTAMP'1970-01-02 00:00:00')
FROM_UNIXTIME(86400)
TYPEOF(1)
TYPEOF('abc')
1 IN {1,2}
BIT_COUNT(7)
5 & 3
5 | 3
1 << 3
JSON_EXTRACT('{"a": 1}','$.a')
JSON_OBJECT('a',1)
JSON_ARRAY(1,'x')
JSON_VALID('{}')
JSON_LENGTH('[1,2]')
USER
CURRENT_USER
DATABASE()
SYSDATE IS NULL
SYSDATETIME IS NULL
LAST_INSERT_ID() IS NULL
N'national'
X'ABCD'
B'101'
''
"""
"""Expressions: their values, and their names and types as results."""

QUERIES = """
SELECT * FROM hr_a ORDER BY id
SELECT id, name FROM hr_a WHERE id = 2
SELECT id AS number, name "label" FROM hr_a WHERE name IS NOT NULL ORDER BY 1 DESC
SELECT a.* FROM hr_a a WHERE a.price > 1 ORDER BY a.id
SELECT COUNT(*), COUNT(name), COUNT(DISTINCT kind) FROM hr_a
SELECT SUM(id), AVG(id), MIN(id), MAX(id) FROM hr_a
SELECT SUM(price), AVG(price), MIN(price), MAX(price) FROM hr_a
SELECT SUM(rate), AVG(rate), MIN(name), MAX(name) FROM hr_a
SELECT STDDEV(id), VARIANCE(id), STDDEV_SAMP(id), VAR_SAMP(id) FROM hr_a
SELECT GROUP_CONCAT(name ORDER BY name) FROM hr_a
SELECT GROUP_CONCAT(DISTINCT kind) FROM hr_a WHERE kind = 1
SELECT SUM(id) FROM hr_a WHERE 1 = 0
SELECT kind, COUNT(*), SUM(price) FROM hr_a GROUP BY kind ORDER BY kind
SELECT kind, COUNT(*) FROM hr_a GROUP BY kind HAVING COUNT(*) > 1 ORDER BY 1
SELECT DISTINCT kind FROM hr_a ORDER BY kind
SELECT id FROM hr_a ORDER BY price DESC, id LIMIT 2
SELECT id FROM hr_a ORDER BY id LIMIT 1, 2
SELECT id FROM hr_a ORDER BY id LIMIT 2 OFFSET 1
SELECT id FROM hr_a WHERE ROWNUM <= 2 ORDER BY id
SELECT a.id, b.note FROM hr_a a JOIN hr_b b ON a.id = b.a_id ORDER BY a.id, b.note
SELECT a.id, b.note FROM hr_a a LEFT JOIN hr_b b ON a.id = b.a_id ORDER BY a.id, b.note
SELECT a.id, b.note FROM hr_a a RIGHT OUTER JOIN hr_b b ON a.id = b.a_id ORDER BY b.id
SELECT a.id, b.id FROM hr_a a, hr_b b WHERE a.id = b.a_id ORDER BY b.id
SELECT COUNT(*) FROM hr_a a CROSS JOIN hr_b b
SELECT id FROM hr_a WHERE id IN (SELECT a_id FROM hr_b) ORDER BY id
SELECT id FROM hr_a WHERE id NOT IN (SELECT a_id FROM hr_b WHERE a_id IS NOT NULL) ORDER BY id
SELECT id FROM hr_a a WHERE EXISTS (SELECT 1 FROM hr_b b WHERE b.a_id = a.id) ORDER BY id
SELECT id, (SELECT COUNT(*) FROM hr_b b WHERE b.a_id = a.id) AS notes FROM hr_a a ORDER BY id
SELECT id FROM hr_a WHERE price > (SELECT AVG(price) FROM hr_a) ORDER BY id
SELECT id FROM hr_a WHERE id >= ALL (SELECT id FROM hr_a)
SELECT id FROM hr_a WHERE id = ANY (SELECT a_id FROM hr_b) ORDER BY id
SELECT x.n FROM (SELECT id * 2 AS n FROM hr_a) x ORDER BY 1
SELECT n FROM (SELECT id FROM hr_a) AS x (n) ORDER BY n
SELECT id FROM hr_a UNION SELECT id FROM hr_b ORDER BY 1
SELECT id FROM hr_a UNION ALL SELECT id FROM hr_b ORDER BY 1
SELECT id FROM hr_a INTERSECT SELECT id FROM hr_b ORDER BY 1
SELECT id FROM hr_a EXCEPT SELECT id FROM hr_b ORDER BY 1
WITH w AS (SELECT id FROM hr_a WHERE id > 1) SELECT COUNT(*) FROM w
WITH RECURSIVE w (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM w WHERE n < 4) SELECT n FROM w
SELECT id, ROW_NUMBER() OVER (ORDER BY price DESC) AS place FROM hr_a ORDER BY id
SELECT id, SUM(price) OVER (PARTITION BY kind ORDER BY id) AS total FROM hr_a ORDER BY id
SELECT id, RANK() OVER (ORDER BY kind) AS place FROM hr_a ORDER BY id
SELECT id, LAG(id) OVER (ORDER BY id) AS before_it FROM hr_a ORDER BY id
SELECT id + 1, price * 2, price / 3, rate / 2, name || '!' FROM hr_a ORDER BY id
SELECT price + id, price - rate, kind * price FROM hr_a ORDER BY id
SELECT id FROM hr_a WHERE name LIKE 'a%' ORDER BY id
SELECT id FROM hr_a WHERE price = 1.5
SELECT id FROM hr_a WHERE price = '1.50'
SELECT id FROM hr_a WHERE made >= '2024-02-01' ORDER BY id
SELECT id FROM hr_a WHERE made BETWEEN DATE'2024-01-01' AND DATE'2024-12-31' ORDER BY id
SELECT id, made + 1 FROM hr_a ORDER BY id
SELECT MIN(made), MAX(made) FROM hr_a
SELECT * FROM hr_v ORDER BY id
SELECT 1 FROM db_root
SELECT 1
SELECT NULL
SELECT 1, 2 UNION SELECT 3, 4 ORDER BY 1
VALUES (1, 'a'), (2, 'b')
(SELECT 1) UNION ALL (SELECT 2) ORDER BY 1
SELECT id FROM hr_a WHERE id = 99
SELECT CASE WHEN price > 2 THEN 'much' ELSE 'little' END AS word FROM hr_a ORDER BY id
SELECT UPPER(name), LENGTH(name), NVL(name, '-') FROM hr_a ORDER BY id
SELECT id FROM [hr_a] WHERE "id" = 1
SELECT `id` FROM `hr_a` WHERE id = 1
SELECT dba.hr_a.id FROM dba.hr_a WHERE id = 1
SELECT class_name, class_type FROM db_class WHERE class_name IN ('hr_a', 'hr_b', 'hr_v') ORDER BY 1
DESC hr_a
SHOW COLUMNS FROM hr_b
"""

CHANGES = """
INSERT INTO hr_a (name, price) VALUES ('new', 9.99)
INSERT INTO hr_a (name, price) VALUES ('m1', 1), ('m2', 2), ('m3', 3)
INSERT INTO hr_a SET name = 'by set', price = 4
INSERT INTO hr_a (name) SELECT note FROM hr_b
INSERT INTO hr_a (id, name) VALUES (100, 'given')
INSERT INTO hr_a (name) VALUES ('after given')
SELECT id, name FROM hr_a WHERE name IN ('given', 'after given') ORDER BY id
INSERT INTO hr_a DEFAULT VALUES
SELECT kind, price FROM hr_a WHERE name IS NULL AND id > 100
UPDATE hr_a SET price = price * 2 WHERE id <= 2
UPDATE hr_a SET price = 0 WHERE id = 12345
UPDATE hr_a SET name = DEFAULT WHERE id = 100
UPDATE hr_a SET price = 7 ORDER BY id LIMIT 2
UPDATE hr_a a SET a.name = 'alias' WHERE a.id = 3
UPDATE hr_a SET price = (SELECT MAX(id) FROM hr_b) WHERE id = 1
SELECT price FROM hr_a WHERE id = 1
DELETE FROM hr_a WHERE id = 100
DELETE FROM hr_a WHERE id > 100 LIMIT 1
DELETE FROM hr_a WHERE id = 12345
INSERT INTO hr_u (k, v) VALUES (1, 'one')
INSERT INTO hr_u (k, v) VALUES (1, 'uno') ON DUPLICATE KEY UPDATE v = 'changed'
INSERT INTO hr_u (k, v) VALUES (2, 'two'), (1, 'eins') ON DUPLICATE KEY UPDATE v = 'both'
REPLACE INTO hr_u (k, v) VALUES (1, 'replaced')
REPLACE INTO hr_u (k, v) VALUES (3, 'three')
SELECT k, v FROM hr_u ORDER BY k
MERGE INTO hr_u t USING hr_b s ON (t.k = s.id) WHEN MATCHED THEN UPDATE SET v = s.note \
WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.id, s.note)
SELECT k, v FROM hr_u ORDER BY k
TRUNCATE TABLE hr_u
SELECT COUNT(*) FROM hr_u
CREATE SERIAL hr_serial START WITH 10 INCREMENT BY 5
SELECT hr_serial.NEXT_VALUE
SELECT hr_serial.NEXT_VALUE
SELECT hr_serial.CURRENT_VALUE
INSERT INTO hr_u (k, v) VALUES (hr_serial.NEXT_VALUE, 'serial')
SELECT k FROM hr_u
DROP SERIAL hr_serial
SET @x = 5
SELECT @x, @x + 1
SELECT @y := 'text'
SELECT @y
CREATE TABLE hr_c (id INT)
ALTER TABLE hr_c ADD COLUMN name VARCHAR(10) DEFAULT 'none'
INSERT INTO hr_c (id) VALUES (1)
ALTER TABLE hr_c ADD COLUMN (n1 INT, n2 INT)
ALTER TABLE hr_c RENAME COLUMN n1 AS renamed
ALTER TABLE hr_c MODIFY COLUMN name VARCHAR(20)
ALTER TABLE hr_c CHANGE COLUMN n2 n3 BIGINT
SELECT * FROM hr_c
DESC hr_c
ALTER TABLE hr_c DROP COLUMN renamed
ALTER TABLE hr_c ADD CONSTRAINT pk_hr_c PRIMARY KEY (id)
ALTER TABLE hr_c ADD UNIQUE INDEX u_hr_c (name)
CREATE INDEX i_hr_c ON hr_c (n3 DESC)
DROP INDEX i_hr_c ON hr_c
RENAME TABLE hr_c AS hr_d
SELECT * FROM hr_d
CREATE TABLE hr_c LIKE hr_d
CREATE TABLE hr_e AS SELECT id, name FROM hr_d
SELECT * FROM hr_e
DROP TABLE hr_c, hr_d
DROP TABLE IF EXISTS hr_e, hr_nothing
CREATE OR REPLACE VIEW hr_v AS SELECT id FROM hr_a WHERE id < 3
SELECT * FROM hr_v ORDER BY 1
CREATE TABLE IF NOT EXISTS hr_a (id INT)
"""

ERRORS = """
SELEC 1
SELECT 1 FROM
SELECT * FROM hr_nothing
SELECT nothing FROM hr_a
SELECT a.nothing FROM hr_a a
SELECT id, id FROM hr_a a JOIN hr_b b ON a.id = b.id
SELECT nofunction(1)
SELECT 1/0
SELECT id/0 FROM hr_a
SELECT CAST('abc' AS INT)
SELECT CAST('x' AS DATE)
SELECT @undefined
SELECT (SELECT id FROM hr_a)
SELECT 1 UNION SELECT 1, 2
SELECT * FROM hr_a ORDER BY 99
SELECT 1 FROM hr_a a, hr_a a
SELECT DATE'2023-02-29'
INSERT INTO hr_nothing VALUES (1)
INSERT INTO hr_a (nothing) VALUES (1)
INSERT INTO hr_a (id, name) VALUES (1)
INSERT INTO hr_a (id) VALUES (1)
INSERT INTO hr_a (id) VALUES ('abc')
INSERT INTO hr_a (name) VALUES ('0123456789012345678901234567890')
INSERT INTO hr_b (a_id) VALUES (12345)
INSERT INTO hr_u (k) VALUES (NULL)
INSERT INTO hr_u (v) VALUES ('no key')
UPDATE hr_nothing SET a = 1
UPDATE hr_a SET nothing = 1
UPDATE hr_a SET id = 2 WHERE id = 1
UPDATE hr_u SET k = NULL
DELETE FROM hr_nothing
DELETE FROM hr_a WHERE id = 1
DROP TABLE hr_nothing
DROP TABLE hr_a
CREATE TABLE hr_a (id INT)
CREATE TABLE hr_x (a INT, a INT)
CREATE TABLE hr_x (a NUMERIC(39,0))
CREATE TABLE hr_x (a NOTYPE)
CREATE INDEX i_x ON hr_nothing (a)
CREATE INDEX i_x ON hr_a (nothing)
DROP INDEX i_nothing ON hr_a
ALTER TABLE hr_a DROP COLUMN nothing
ALTER TABLE hr_a ADD COLUMN name INT
ALTER TABLE hr_nothing ADD COLUMN a INT
TRUNCATE TABLE hr_nothing
SELECT hr_noserial.NEXT_VALUE
DROP SERIAL hr_noserial
CREATE VIEW hr_v AS SELECT 1
DROP VIEW hr_nothing
SELECT 'unterminated
ROLLBACK TO SAVEPOINT nothing
SELECT ?
"""

COMPARED = {
    "dy": (
        "datetime'2024-02-29 10:11:12.123'",
        "datetime'2024-02-29 00:00:00.000'",
        "date'2024-02-29'",
        "time'10:11:12'",
    ),
    "ts": ("datetime'2024-02-29 10:11:12.123'", "timestamp'2024-02-29 10:11:12'", "date'2024-02-29'"),
    "dt": ("timestamp'2024-02-29 10:11:12'", "date'2024-02-28'", "time'10:11:12'"),
    "tm": ("time'10:11:12'", "datetime'2024-02-29 10:11:12.123'", "date'2024-02-29'"),
    "i": ("4", "3.5", "3.5e0", "'4'", "'3.5'"),
    "s": ("'4'", "'x'"),
}
"""Columns of the table HR_T, and literals that they are compared with."""

COMPARED_ROWS = (
    "(1, date'2024-02-29', timestamp'2024-02-29 10:11:12', datetime'2024-02-29 10:11:12.123', time'10:11:12', 3, 'x')",
    "(2, date'2024-02-28', timestamp'2024-02-28 00:00:00', datetime'2024-02-28 00:00:00.000', time'00:00:00', 4, '4')",
    "(3, date'2024-03-01', timestamp'2024-03-01 00:00:00', datetime'2024-03-01 00:00:00.000', time'12:00:00', 10, 'y')",
)
"""Its rows."""

COMPARISONS = (
    "{c} = {l}", "{c} <> {l}", "{c} < {l}", "{c} >= {l}", "{l} = {c}", "{l} > {c}", "{c} in ({l})", "{c} not in ({l})",
    "{c} in ({l}, {l})", "{c} not in ({l}, {l})", "{c} between {l} and {l}", "{c} not between {l} and {l}",
)  # fmt: skip
"""How: in what stands alone the literal gets the column's type, in a list and in NOT BETWEEN it keeps its own."""

DJANGO = """
SELECT k FROM hr_u WHERE 1
SELECT k FROM hr_u WHERE k
SELECT k FROM hr_u WHERE LENGTH(v)
SELECT k FROM hr_u WHERE NOT k
SELECT k FROM hr_u WHERE k = 1 AND k
SELECT k FROM hr_u WHERE k = 1 AND (LENGTH(v) OR k = 1)
SELECT k FROM hr_u WHERE (SELECT 1)
SELECT k FROM hr_u WHERE CASE WHEN k = 1 THEN 1 ELSE 0 END
SELECT k FROM hr_u WHERE TRUE
SELECT k FROM hr_u WHERE (k = 1) = 1
SELECT CASE WHEN k THEN 1 ELSE 0 END FROM hr_u
SELECT IF(k, 1, 0) FROM hr_u
SELECT k FROM hr_u GROUP BY k HAVING k
SELECT a.k FROM hr_u a JOIN hr_u b ON a.k
UPDATE hr_u SET v = v WHERE k
DELETE FROM hr_u WHERE k
SELECT EXISTS (SELECT 1 FROM hr_u)
SELECT NOT EXISTS (SELECT 1 FROM hr_u)
SELECT k FROM hr_u ORDER BY EXISTS (SELECT 1 FROM hr_u)
SELECT k FROM hr_u ORDER BY NOT k = 1
SELECT k FROM hr_u ORDER BY CASE WHEN EXISTS (SELECT 1 FROM hr_u) THEN 1 ELSE 0 END, k
SELECT -11 >> 1, -1 >> 63, 1 << 64, 1 >> 64, 1 << -1, -5 << 1, 5 >> 1, -5 & 3
CREATE TABLE hr_d (k INT PRIMARY KEY, a INT NOT NULL DEFAULT 5, b INT DEFAULT 3)
ALTER TABLE hr_d ALTER COLUMN a SET DEFAULT NULL
ALTER TABLE hr_d ALTER COLUMN b SET DEFAULT NULL
ALTER TABLE hr_d ALTER COLUMN k SET DEFAULT NULL
ALTER TABLE hr_d MODIFY COLUMN a INT NOT NULL DEFAULT NULL
ALTER TABLE hr_d ADD COLUMN c INT NOT NULL DEFAULT NULL
ALTER TABLE hr_d MODIFY COLUMN a INT NULL, ALTER COLUMN a SET DEFAULT NULL, MODIFY COLUMN a INT NOT NULL
SELECT attr_name, default_value FROM db_attribute WHERE class_name = 'hr_d' ORDER BY attr_name
CREATE TABLE hr_e (a INT NOT NULL DEFAULT NULL)
CREATE TABLE hr_e (a INT PRIMARY KEY DEFAULT NULL)
CREATE TABLE hr_c (id INT PRIMARY KEY, u VARCHAR(20) UNIQUE, x INT, y INT, CONSTRAINT u_xy UNIQUE (x, y))
CREATE TABLE hr_e (a VARCHAR(20), FOREIGN KEY (a) REFERENCES hr_c (u))
CREATE TABLE hr_e (a VARCHAR(20), CONSTRAINT named FOREIGN KEY (a) REFERENCES hr_c (u))
CREATE TABLE hr_e (a INT, b INT, c VARCHAR(20))
ALTER TABLE hr_e ADD CONSTRAINT named FOREIGN KEY (c) REFERENCES hr_c (u)
ALTER TABLE hr_e ADD CONSTRAINT named FOREIGN KEY (a, b) REFERENCES hr_c (x, y)
ALTER TABLE hr_e ADD CONSTRAINT named FOREIGN KEY (a) REFERENCES hr_c (nosuch)
ALTER TABLE hr_e ADD CONSTRAINT named FOREIGN KEY (a) REFERENCES nosuch (a)
ALTER TABLE hr_e ADD CONSTRAINT named FOREIGN KEY (a) REFERENCES hr_u (k)
ALTER TABLE hr_e ADD CONSTRAINT named FOREIGN KEY (a) REFERENCES hr_c (id)
ALTER TABLE hr_d MODIFY COLUMN a BIGINT
SHOW COLUMNS FROM hr_d
ALTER TABLE hr_d MODIFY COLUMN a BIGINT NULL
SHOW COLUMNS FROM hr_d
ALTER TABLE hr_d MODIFY COLUMN a BIGINT NULL
ALTER TABLE hr_d DROP COLUMN k
ALTER TABLE hr_b MODIFY COLUMN id VARCHAR(20)
ALTER TABLE hr_b MODIFY COLUMN id BIGINT
SHOW COLUMNS FROM hr_b
CREATE INDEX i_hr_d ON hr_d (a, b DESC)
SELECT COUNT(*) FROM db_index_key WHERE class_name = 'hr_d' AND owner_name = CURRENT_USER AND asc_desc = 'DESC'
"""
"""What Django writes, or would write for other databases. A refused one is rolled back to its beginning."""
